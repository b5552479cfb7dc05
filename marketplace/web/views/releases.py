"""Releases: what was frozen from a campaign's accepted items, with its files and hashes."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from marketplace.errors import NotAllowed
from marketplace.selectors import campaigns
from marketplace.selectors import releases as rows
from marketplace.services import releases as service
from marketplace.web.doors import button, page
from marketplace.web.views import page_of
from trainer.recipes import RECIPES


@require_GET
@page
def index(request: HttpRequest) -> HttpResponse:
    found = rows.visible_to(request.user).select_related("campaign")
    return render(request, "marketplace/releases/index.html", {"page": page_of(request, found)})


@require_GET
@page
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    release = rows.get(public_id, request.user)
    context = {
        "release": release,
        "recipes": [spec for spec in RECIPES.values() if spec.modality == release.campaign.modality],
        "may_download": release.campaign.owner_id == request.user.pk,
    }
    return render(request, "marketplace/releases/detail.html", context)


@require_POST
@button("web:campaign", "slug")
def build(request: HttpRequest, slug: str) -> HttpResponseBase:
    user: Any = request.user
    campaign = campaigns.get(slug, user)
    if campaign.owner_id != user.pk:
        raise NotAllowed(_("Only the sponsor of this campaign can make a release."))
    release = service.build_release(campaign, by=user)
    messages.success(request, _("Release %(number)s is being built.") % {"number": release.version})
    return redirect("web:release", public_id=release.public_id)
