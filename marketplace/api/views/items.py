"""One item with its evidence, its served content, and the verdict of a moderator on it."""

import json
from typing import Any

from django.http import Http404, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of, scopes_of
from marketplace.api.idempotency import answer_once
from marketplace.api.media import Stored, send, send_text
from marketplace.api.serializers import items as shapes
from marketplace.api.views.base import View
from marketplace.models import Item, Modality
from marketplace.selectors.lookup import get_one
from marketplace.services import moderation

IMAGE_TYPES = {".png": "image/png", ".webp": "image/webp"}  # what intake re-encodes to; nothing else is shown


def show_items(request: Request, rows: list[Item]) -> list[dict[str, Any]]:
    context = {"request": request, "sees_all": "moderate" in scopes_of(request)}
    return shapes.ItemOut(rows, many=True, context=context).data  # type: ignore[return-value]


class OneItem(View):
    @extend_schema(
        summary="Show an item with evidence, verdicts and reward",
        description="For its contributor, the campaign's owner and moderators.",
        responses=shapes.ItemDetail,
        tags=["items"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        rows = visibility.items(request).prefetch_related("evidence", "verdicts__moderator")
        item = get_one(rows, public_id)
        context = {"request": request, "sees_all": "moderate" in scopes_of(request)}
        return Response(shapes.ItemDetail(item, context=context).data)


class ItemContent(View):
    @extend_schema(
        summary="Download an item's content",
        description="Images: the re-encoded copy without metadata. Texts: text/plain. Rows: JSON. Never the original.",
        responses={(200, "image/png"): OpenApiTypes.BINARY, (200, "text/plain"): OpenApiTypes.STR},
        tags=["items"],
    )
    def get(self, request: Request, public_id: str) -> HttpResponseBase:
        item = get_one(visibility.items(request), public_id)
        name = f"item-{item.public_id}"
        if item.campaign.modality == Modality.TEXT and item.text:
            return send_text(item.text, Stored("", "text/plain; charset=utf-8", f"{name}.txt"))
        if item.campaign.modality == Modality.TABULAR and item.row is not None:
            return send_text(
                json.dumps(item.row, ensure_ascii=False), Stored("", "application/json", f"{name}.json")
            )
        suffix = next((one for one in IMAGE_TYPES if item.served_key.endswith(one)), None)
        if suffix is None:
            raise Http404
        return send(
            request, Stored(item.served_key, IMAGE_TYPES[suffix], f"{name}{suffix}", is_attachment=False)
        )


class ItemVerdicts(View):
    keyed = True
    scopes = {"POST": ("moderate",)}

    @extend_schema(
        summary="Accept or reject an item",
        description="For moderators, never on their own items (403). Two at once: one decides, the other gets 409.",
        request=shapes.VerdictIn,
        responses={201: shapes.VerdictOut},
        tags=["moderation"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        item = get_one(visibility.items(request), public_id)
        wish = self.read(shapes.VerdictIn)

        def act(key: str) -> Response:
            verdict = moderation.decide(item, moderator=caller_of(request), idempotency_key=key, **wish)
            return Response(shapes.VerdictOut(verdict).data, status=201)

        return answer_once(request, act)
