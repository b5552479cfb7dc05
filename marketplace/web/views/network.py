"""The network of volunteers: who is there, where the backbone is, how to join."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from marketplace.selectors import network as rows
from marketplace.services import network as service
from marketplace.web.doors import button, page


@require_GET
@page
def overview(request: HttpRequest) -> HttpResponse:
    """htmx asks for the live part alone."""
    live = request.htmx and not request.htmx.boosted  # type: ignore[attr-defined]
    template = "marketplace/network/_live.html" if live else "marketplace/network/overview.html"
    return render(request, template, _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    now = timezone.now()
    peers = rows.peer_views(request.user, now)
    return {
        "peers": peers,
        "online": sum(1 for peer in peers if peer.is_online),
        "speed": sum(peer.peer.samples_per_s for peer in peers if peer.is_online),
        "backbones": rows.backbones(now),
        "market": request.build_absolute_uri("/").rstrip("/"),
    }


@require_POST
@button("web:network")
def code(request: HttpRequest) -> HttpResponseBase:
    """A one-time code, shown this once, in the command to copy."""
    user: Any = request.user
    secret, expires_at = service.issue_enrolment_code(user)
    context = _context(request) | {"code": secret, "expires_at": expires_at}
    template = "marketplace/network/_code.html" if request.htmx else "marketplace/network/overview.html"  # type: ignore[attr-defined]
    response = render(request, template, context)
    response["Cache-Control"] = "no-store"
    return response
