"""What a person sees when a request cannot be served: 403, 404, 500 and a stale form.

Each page says what happened, that nothing was lost, and where to go next. The 500 page reads nothing from the
database, since that may be what failed.
"""

import logging
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

logger = logging.getLogger("django.request")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Signed in, but not allowed: says so, and names the reason where the view gave one.

    Logs one line itself: Django would add the traceback of an exception that is an answer, not a failure.
    """
    context = {"reason": str(exception or "")}
    response = render(request, "errors/403.html", context, status=HTTPStatus.FORBIDDEN)
    logger.warning("Forbidden: %s", request.path, extra={"status_code": 403, "request": request})
    response._has_been_logged = True  # type: ignore[attr-defined]  # what django.utils.log.log_response looks at
    return response


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Missing, or somebody else's: the two look the same, so that ids cannot be probed."""
    return render(request, "errors/404.html", status=HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """Rendered without request or context processors."""
    return HttpResponse(render_to_string("errors/500.html"), status=HTTPStatus.INTERNAL_SERVER_ERROR)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form older than the session, or cookies switched off."""
    return render(request, "errors/csrf.html", {"reason": reason}, status=HTTPStatus.FORBIDDEN)
