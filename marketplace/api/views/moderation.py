"""What waits for a moderator, and one decision on several items."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.idempotency import answer_once
from marketplace.api.pagination import Numbered
from marketplace.api.serializers import items as shapes
from marketplace.api.views.base import View
from marketplace.api.views.items import show_items
from marketplace.errors import NotFound
from marketplace.models import Item
from marketplace.selectors import moderation as selectors
from marketplace.services import moderation


class QueueQuery(serializers.Serializer[Any]):
    campaign = serializers.SlugField(max_length=80, required=False, help_text="Only this campaign's items.")


class VerdictsOut(serializers.Serializer[Any]):
    decided = serializers.IntegerField()
    verdicts = shapes.VerdictOut(many=True)


class Queue(View):
    scopes = {"GET": ("moderate",)}
    pagination_class = Numbered

    @extend_schema(
        summary="List items that wait for a moderator",
        description="The most doubtful first; the caller's own items are left out.",
        parameters=[QueueQuery],
        responses=shapes.ItemOut(many=True),
        tags=["moderation"],
    )
    def get(self, request: Request) -> Response:
        slug = self.read_query(QueueQuery).get("campaign", "")
        rows = selectors.queue(caller_of(request), campaign_slug=slug).select_related("duplicate_of")
        return self.page(rows, lambda page: show_items(request, page))


class BulkVerdicts(View):
    keyed = True
    scopes = {"POST": ("moderate",)}

    @extend_schema(
        summary="Accept or reject several items",
        description="All or none: one unknown id is 404, one already decided is 409, and nothing is changed.",
        request=shapes.VerdictsIn,
        responses={201: VerdictsOut},
        tags=["moderation"],
    )
    def post(self, request: Request) -> Response:
        wish = self.read(shapes.VerdictsIn)
        items = _all_of(request, wish.pop("items"))

        def act(key: str) -> Response:
            made = moderation.decide_many(items, moderator=caller_of(request), idempotency_key=key, **wish)
            return Response(
                {"decided": len(made), "verdicts": shapes.VerdictOut(made, many=True).data}, status=201
            )

        return answer_once(request, act)


def _all_of(request: Request, public_ids: list[Any]) -> list[Item]:
    wanted = list(dict.fromkeys(public_ids))
    found = {item.public_id: item for item in visibility.items(request).filter(public_id__in=wanted)}
    if len(found) != len(wanted):
        raise NotFound
    return [found[public_id] for public_id in wanted]
