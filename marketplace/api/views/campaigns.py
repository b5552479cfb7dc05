"""Campaigns: listed, made, changed, opened, closed, funded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.idempotency import answer_once
from marketplace.api.serializers import campaigns as shapes
from marketplace.api.views.base import View
from marketplace.errors import InvalidInput
from marketplace.models import Campaign, Modality, User
from marketplace.rules.schema import CampaignDraft
from marketplace.selectors import campaigns as selectors
from marketplace.services import campaigns as services


class CampaignQuery(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=Campaign.State.choices, required=False)
    modality = serializers.ChoiceField(choices=Modality.choices, required=False)


def find_campaign(request: Request, slug: str) -> Campaign:
    """Raises: Http404 for what is absent or hidden from the caller."""
    return get_object_or_404(visibility.campaigns(request), slug=slug)


def show_campaign(request: Request, campaign: Campaign) -> dict[str, Any]:
    context = {"request": request, "budget": selectors.budget(campaign)}
    return shapes.CampaignDetail(campaign, context=context).data


@contextmanager
def _as_in_body() -> Iterator[None]:
    """Refusals name the body's fields: a draft's reward is `reward_base_nano` there."""
    try:
        yield
    except InvalidInput as error:
        if "reward_base" in error.fields:
            error.fields["reward_base_nano"] = error.fields.pop("reward_base")
        raise


def _fields_of(wish: dict[str, Any]) -> dict[str, Any]:
    """The body's names as CampaignDraft's."""
    if "reward_base_nano" in wish:
        wish["reward_base"] = wish.pop("reward_base_nano")
    return wish


class Campaigns(View):
    keyed = True
    public = True

    @extend_schema(
        summary="List campaigns",
        description="Open and closed ones, and the caller's own drafts; newest first.",
        parameters=[CampaignQuery],
        responses=shapes.CampaignOut(many=True),
        tags=["campaigns"],
    )
    def get(self, request: Request) -> Response:
        rows = visibility.campaigns(request).filter(**self.read_query(CampaignQuery))
        return self.page(
            rows, lambda page: shapes.CampaignOut(page, many=True, context={"request": request}).data
        )

    @extend_schema(
        summary="Create a campaign",
        description="For sponsors. It starts as a draft; open it when it is complete.",
        request=shapes.CampaignIn,
        responses={201: shapes.CampaignDetail},
        tags=["campaigns"],
    )
    def post(self, request: Request) -> Response:
        wish = self.read(shapes.CampaignIn)
        slug, draft = wish.pop("slug", ""), CampaignDraft(**_fields_of(wish))

        def act(key: str) -> Response:
            with _as_in_body():
                campaign = services.create_campaign(caller_of(request), draft, slug=slug)
            return Response(show_campaign(request, campaign), status=201)

        return answer_once(request, act)


class OneCampaign(View):
    public = True

    @extend_schema(
        summary="Show a campaign and its budget", responses=shapes.CampaignDetail, tags=["campaigns"]
    )
    def get(self, request: Request, slug: str) -> Response:
        return Response(show_campaign(request, find_campaign(request, slug)))

    @extend_schema(
        summary="Change a campaign",
        description="By its owner. Drafts: any field; once open: title, description, deadline (409 for others).",
        request=shapes.CampaignChange,
        responses=shapes.CampaignDetail,
        tags=["campaigns"],
    )
    def patch(self, request: Request, slug: str) -> Response:
        campaign = find_campaign(request, slug)
        changes = _fields_of(self.read(shapes.CampaignChange))
        with _as_in_body():
            changed = services.update_campaign(campaign, changes, by=caller_of(request))
        return Response(show_campaign(request, changed))


class _Step(View):
    """A step in a campaign's life, taken by its owner."""

    keyed = True

    def take(self, request: Request, slug: str, step: Callable[..., Campaign]) -> Response:
        campaign = find_campaign(request, slug)
        return answer_once(
            request, lambda key: Response(show_campaign(request, step(campaign, by=caller_of(request))))
        )


class OpenCampaign(_Step):
    keyed = True

    @extend_schema(
        summary="Open a campaign for submissions",
        request=None,
        responses=shapes.CampaignDetail,
        tags=["campaigns"],
    )
    def post(self, request: Request, slug: str) -> Response:
        return self.take(request, slug, services.open_campaign)


class CloseCampaign(_Step):
    keyed = True

    @extend_schema(
        summary="Close a campaign",
        description="It takes no more submissions; what was received is still judged and paid.",
        request=None,
        responses=shapes.CampaignDetail,
        tags=["campaigns"],
    )
    def post(self, request: Request, slug: str) -> Response:
        return self.take(request, slug, services.close_campaign)


class FundCampaign(View):
    keyed = True
    needs_key = True

    @extend_schema(
        summary="Add to a campaign's budget",
        description="By its owner. Accepted items that only waited for money are then paid.",
        request=shapes.FundIn,
        responses=shapes.CampaignDetail,
        tags=["campaigns"],
    )
    def post(self, request: Request, slug: str) -> Response:
        campaign = find_campaign(request, slug)
        amount = self.read(shapes.FundIn)["amount_nano"]

        def act(key: str) -> Response:
            services.fund_campaign(campaign, amount, by=caller_of(request), key=key)
            return Response(show_campaign(request, campaign))

        return answer_once(request, act, required=True)


def _user(request: Request) -> User:
    assert isinstance(caller_of(request), User)  # noqa: S101 - HasScope let it through
    return caller_of(request)
