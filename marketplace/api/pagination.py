"""Lists as {"results", "next"}: `next` is the address of the following page, or null."""

from typing import Any

from rest_framework.pagination import CursorPagination, PageNumberPagination
from rest_framework.response import Response


class Envelope:
    """The answer's shape, and how many rows a page may have."""

    page_size: int | None = 50
    page_size_query_param: str | None = "limit"
    max_page_size: int | None = 200

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
