"""Lists as {"results", "next"}: `next` is the address of the following page, or null."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import BasePagination, CursorPagination, PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.errors import InvalidInput

OTHER_WAYS = ("cursor", "page", "offset")
MAX_PAGE = 10**6


def other_ways(query: Mapping[str, str], place: str) -> dict[str, str]:
    """Faults for parameters of other kinds of paging than by `place`, which would be ignored in silence."""
    return {
        name: f"this list is not paged by {name}; follow `next`"
        for name in OTHER_WAYS
        if name in query and name != place
    }


class Envelope(BasePagination):
    """The answer's shape, and how many rows a page may have."""

    page_size: int | None = 50
    page_size_query_param: str | None = "limit"
    max_page_size: int | None = 200
    place = "cursor"  # the parameter that says where a page begins

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        """Raises: InvalidInput for what DRF itself would pass over in silence."""
        if faults := self._faults(request.query_params):
            place, message = next(iter(faults.items()))
            raise InvalidInput(f"{place}: {message}.", fields=faults)
        try:
            return super().paginate_queryset(queryset, request, view)
        except NotFound as error:
            if "cursor" not in request.query_params:
                raise
            message = "take it from `next` of the page before, unchanged"
            raise InvalidInput(f"cursor: {message}.", fields={"cursor": message}) from error

    def _faults(self, query: Mapping[str, str]) -> dict[str, str]:
        faults = other_ways(query, self.place)
        if "limit" in query and _whole(query["limit"], self.max_page_size or 0) is None:
            faults["limit"] = f"a whole number from 1 to {self.max_page_size}"
        if self.place == "page" and _whole(query.get("page", "1"), MAX_PAGE) is None:
            faults["page"] = "a whole number from 1"
        return faults

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "results": data,
                "next": self.get_next_link(),  # type: ignore[attr-defined]
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        following = {"type": "string", "nullable": True, "format": "uri", "description": "The next page."}
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {"results": schema, "next": following},
        }


class NewestFirst(Envelope, CursorPagination):
    """By row number, which only grows: pages neither repeat nor skip while others write."""

    ordering = "-id"


class OldestFirst(NewestFirst):
    ordering = "id"


class ByStep(NewestFirst):
    """A job's rounds, of which there is one per step."""

    ordering = "step"


class Numbered(Envelope, PageNumberPagination):
    """For lists ordered by a score; a row may shift between pages while others decide."""

    place = "page"


def _whole(text: str, most: int) -> int | None:
    """A number written in up to nine digits, from 1 to `most`."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
    return number if 1 <= number <= most else None
