"""The landing page: what Hydra is, what it has done, what this person can do next."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from marketplace.selectors import campaigns
from marketplace.web.figures import landing_figures

SHOWN_CAMPAIGNS = 3


def home(request: HttpRequest) -> HttpResponse:
    open_now = campaigns.with_counts(campaigns.visible_to(request.user).filter(state="open"))
    context = {
        "figures": landing_figures(timezone.now(), settings.HYDRA_BACKBONE_STALE_S),
        "campaigns": open_now.order_by("-opened_at", "-pk")[:SHOWN_CAMPAIGNS],
    }
    return render(request, "marketplace/home.html", context)
