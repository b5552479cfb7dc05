"""The pages: each view parses, makes one call, renders."""

from django.core.paginator import Page, Paginator
from django.http import HttpRequest

PAGE_ROWS = 30  # what fits a phone without endless scrolling


def page_of(request: HttpRequest, rows: object, size: int = PAGE_ROWS) -> Page:
    """The page of `rows` that `?page=` asks for; nonsense and numbers beyond the end give the nearest one."""
    return Paginator(rows, size).get_page(request.GET.get("page"))  # type: ignore[arg-type]
