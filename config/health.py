"""Whether this web process can serve: it answers and its database does. For supervisors and load balancers."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse


def health(request: HttpRequest) -> JsonResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return JsonResponse({"database": str(error)}, status=503)
    return JsonResponse({"database": "ok"})
