"""Campaigns: the list, one campaign, and the sponsor's form and buttons."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from marketplace.errors import MarketError, NotAllowed
from marketplace.models import Campaign
from marketplace.rules.admission import fill_policy
from marketplace.selectors import campaigns as rows
from marketplace.selectors import releases
from marketplace.services import campaigns as service
from marketplace.web.doors import button, key_of, member_page, new_key, page, show_on_form
from marketplace.web.forms.campaign import (
    LICENCES,
    AttributeFormSet,
    CampaignForm,
    OpenCampaignForm,
    attributes_of,
    initial_attributes,
    initial_of,
)
from marketplace.web.forms.money import FundForm
from marketplace.web.views import page_of


@require_GET
@page
def index(request: HttpRequest) -> HttpResponse:
    """All that were opened, and one's own drafts; `?state=`, `?kind=` and `?q=` narrow them."""
    found = rows.with_counts(rows.visible_to(request.user))
    state, kind, words = (request.GET.get(name, "") for name in ("state", "kind", "q"))
    if state in Campaign.State.values:
        found = found.filter(state=state)
    if kind in ("image", "text", "tabular"):
        found = found.filter(modality=kind)
    if words:
        found = found.filter(title__icontains=words[:80])
    found = found.order_by(
        "-state", "-created_at", "-pk"
    )  # open, draft, closed happens to be the useful order
    context = {"page": page_of(request, found, 18), "state": state, "kind": kind, "q": words}
    return render(request, "marketplace/campaigns/index.html", context)


@require_GET
@page
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    campaign = rows.get(slug, request.user)
    is_owner = campaign.owner_id == request.user.pk
    classes = rows.class_counts(campaign)
    context = {
        "campaign": campaign,
        "is_owner": is_owner,
        "takes_uploads": campaign.accepts_uploads(timezone.now()),
        "budget": rows.budget(campaign),
        "waiting_for_budget": rows.waiting_for_budget(campaign),
        "classes": classes,
        "class_scale": max((one.share for one in classes), default=0),
        "attributes": rows.attribute_shares(campaign),
        "policy": fill_policy(campaign.policy),
        "releases": releases.of_campaign(campaign)[:5],
        "fund_form": FundForm() if is_owner else None,
        "key": new_key(),
    }
    return render(request, "marketplace/campaigns/detail.html", context)


@member_page
def create(request: HttpRequest) -> HttpResponseBase:
    if not request.user.is_sponsor:  # type: ignore[union-attr]
        raise NotAllowed(_("Campaigns are created by sponsors. An operator grants the role."))
    form, groups = CampaignForm(request.POST or None), AttributeFormSet(request.POST or None, prefix="groups")

    def save(draft: Any) -> Campaign:
        return service.create_campaign(request.user, draft)  # type: ignore[arg-type]

    return _edit(request, form, groups, save, None)


@member_page
def edit(request: HttpRequest, slug: str) -> HttpResponseBase:
    campaign = _own(request, slug)
    if campaign.state != Campaign.State.DRAFT:
        return _edit_open(request, campaign)
    form = CampaignForm(request.POST or None, initial=initial_of(campaign))
    groups = AttributeFormSet(request.POST or None, prefix="groups", initial=initial_attributes(campaign))

    def save(draft: Any) -> Campaign:
        return service.update_campaign(campaign, vars(draft), by=request.user)  # type: ignore[arg-type]

    return _edit(request, form, groups, save, campaign)


def _edit(
    request: HttpRequest,
    form: CampaignForm,
    groups: Any,
    save: Callable[[Any], Campaign],
    campaign: Campaign | None,
) -> HttpResponseBase:
    if request.method == "POST" and all([form.is_valid(), groups.is_valid()]):
        try:
            saved = save(form.draft(attributes_of(groups)))
        except MarketError as error:
            show_on_form(form, error)
        else:
            messages.success(request, _("Saved. Contributors see the campaign once you open it."))
            return redirect("web:campaign", slug=saved.slug)
    wrong = bool(form.errors) or groups.total_error_count() > 0
    context = {"form": form, "groups": groups, "campaign": campaign, "licences": LICENCES, "wrong": wrong}
    return render(request, "marketplace/campaigns/edit.html", context, status=422 if wrong else 200)


def _edit_open(request: HttpRequest, campaign: Campaign) -> HttpResponseBase:
    form = OpenCampaignForm(request.POST or None, initial=initial_of(campaign))
    if request.method == "POST" and form.is_valid():
        try:
            service.update_campaign(campaign, form.cleaned_data, by=request.user)  # type: ignore[arg-type]
        except MarketError as error:
            show_on_form(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("web:campaign", slug=campaign.slug)
    return render(request, "marketplace/campaigns/edit_open.html", {"form": form, "campaign": campaign})


@require_POST
@button("web:campaign", "slug")
def open_(request: HttpRequest, slug: str) -> HttpResponseBase:
    service.open_campaign(_own(request, slug), by=request.user)  # type: ignore[arg-type]
    messages.success(request, _("The campaign is open: contributors can upload."))
    return redirect("web:campaign", slug=slug)


@require_POST
@button("web:campaign", "slug")
def close(request: HttpRequest, slug: str) -> HttpResponseBase:
    service.close_campaign(_own(request, slug), by=request.user)  # type: ignore[arg-type]
    messages.success(request, _("The campaign is closed. What was received is still judged and paid."))
    return redirect("web:campaign", slug=slug)


@require_POST
@button("web:campaign", "slug")
def fund(request: HttpRequest, slug: str) -> HttpResponseBase:
    campaign, form = _own(request, slug), FundForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["amount"])))
        return redirect("web:campaign", slug=slug)
    service.fund_campaign(campaign, form.cleaned_data["amount"], by=request.user, key=key_of(request))  # type: ignore[arg-type]
    messages.success(request, _("The budget has grown."))
    return redirect("web:campaign", slug=slug)


def _own(request: HttpRequest, slug: str) -> Campaign:
    campaign = rows.get(slug, request.user)
    if campaign.owner_id != request.user.pk:
        raise NotAllowed(_("Only the sponsor of this campaign can change it."))
    return campaign
