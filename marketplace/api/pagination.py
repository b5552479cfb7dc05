"""Lists as {"results", "next"}: `next` is the address of the following page, or null."""

from typing import Any

from rest_framework.pagination import CursorPagination, PageNumberPagination
from rest_framework.response import Response


class NewestFirst(CursorPagination):
    """By row number, which only grows: pages neither repeat nor skip while others write."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.get_next_link()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        following = {"type": "string", "nullable": True, "format": "uri", "description": "The next page."}
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {"results": schema, "next": following},
        }


class OldestFirst(NewestFirst):
    ordering = "id"


class ByStep(NewestFirst):
    """A job's rounds, of which there is one per step."""

    ordering = "step"


class Numbered(PageNumberPagination):
    """For lists ordered by a score; a row may shift between pages while others decide."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    get_paginated_response = NewestFirst.get_paginated_response  # type: ignore[assignment]
    get_paginated_response_schema = NewestFirst.get_paginated_response_schema  # type: ignore[assignment]
