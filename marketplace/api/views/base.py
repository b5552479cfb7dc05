"""What every view shares: JSON whatever `Accept` says, and a limit on the body before it is read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.datastructures import MultiValueDict
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from marketplace.api.errors import TooBig
from marketplace.api.pagination import NewestFirst, Numbered
from marketplace.api.parsers import StrictJSONParser
from marketplace.api.schema import DoorSchema, openapi_yaml

JSON_BODY_BYTES = 2**20


class JSONAnyway(DefaultContentNegotiation):
    """Answers in JSON even where the caller asked for an image or a page: errors must stay readable."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class View(APIView):
    """Base of all doors. `max_body_bytes` is compared with Content-Length, which bounds what Django reads.

    `public`: anyone may read. `scopes`: what other methods than the rule's need. `keyed`: posts take an
    Idempotency-Key, which they need where `needs_key`. auth.HasScope and schema.DoorSchema read the same.
    """

    schema = DoorSchema()
    public = False
    scopes: Mapping[str, Sequence[str]] = {}
    keyed = False
    needs_key = False
    metadata_class = None  # OPTIONS would show docstrings that are for readers of the code
    content_negotiation_class = JSONAnyway
    parser_classes = [StrictJSONParser]
    pagination_class: type[NewestFirst] | type[Numbered] = NewestFirst
    max_body_bytes = JSON_BODY_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > self.max_body_bytes:
            raise TooBig(self.max_body_bytes)
        super().initial(request, *args, **kwargs)

    def read(self, serializer: type[Serializer[Any]], data: Any = None) -> dict[str, Any]:
        """The checked body (or `data`). Raises: ValidationError, shown as 400 with the places named."""
        given = self.request.data if data is None else data
        form = serializer(data=given, context={"request": self.request})
        if data is None and (faults := _unread_parts(given, form.fields)):
            raise ValidationError(faults)
        form.is_valid(raise_exception=True)
        return form.validated_data

    def read_query(self, serializer: type[Serializer[Any]]) -> dict[str, Any]:
        return self.read(serializer, self.request.query_params.dict())

    def page(self, rows: QuerySet[Any], show: Callable[[list[Any]], Any]) -> Response:
        """One page of `rows`; `show` renders the rows of that page."""
        pages = self.pagination_class()
        chosen = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response(show(list(chosen or [])))


def _unread_parts(given: Any, known: Collection[str]) -> dict[str, list[str]]:
    """What of a body would be dropped in silence: fields that the door does not know, and all but the last of several."""
    if not isinstance(given, Mapping):
        return {}
    faults = {str(name): ["There is no such field."] for name in sorted(set(given) - set(known))}
    if isinstance(given, MultiValueDict):
        several = [name for name, values in given.lists() if len(values) > 1]
        faults.update({name: ["Send one in each request."] for name in several})
    return faults


@extend_schema(exclude=True)
class NoSuchDoor(View):
    """Any path under /api/v1/ that is not a door."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.http_method_names = [request.method.lower()]
        setattr(self, request.method.lower(), self.refuse)
        return super().dispatch(request, *args, **kwargs)

    def refuse(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise Http404


@extend_schema(exclude=True)
class Schema(View):
    """The OpenAPI file; open to everyone, since it says nothing that the documentation does not."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(openapi_yaml(), content_type="application/vnd.oai.openapi; charset=utf-8")
