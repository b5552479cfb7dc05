"""The moderators' queue: one decision on one item, or one decision on many."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from marketplace.errors import InvalidInput, MarketError, NotFound
from marketplace.models import Item
from marketplace.selectors import moderation as rows
from marketplace.selectors import submissions
from marketplace.services import moderation as service
from marketplace.web.doors import button, explain, key_of, moderator_page, new_key
from marketplace.web.views import page_of

QUEUE_ROWS = 24
MAX_MANY = 500
REASONS = (
    gettext_lazy("The label is wrong."),
    gettext_lazy("It cannot be recognised."),
    gettext_lazy("It is not what the campaign asks for."),
    gettext_lazy("It shows personal data."),
    gettext_lazy("It is a copy of another item."),
)


@require_GET
@moderator_page
def queue(request: HttpRequest) -> HttpResponse:
    """Worst label evidence first; `?campaign=` and `?submission=` narrow it."""
    campaign, submission = request.GET.get("campaign", ""), request.GET.get("submission", "")
    found = rows.queue(request.user, campaign_slug=campaign, submission_id=submission)  # type: ignore[arg-type]
    context = {
        "page": page_of(request, found, QUEUE_ROWS),
        "counts": rows.queue_counts(request.user),  # type: ignore[arg-type]
        "campaign": campaign,
        "submission": submission,
        "reasons": REASONS,
        "key": new_key(),
    }
    return render(request, "marketplace/moderation/queue.html", context)


@require_POST
@moderator_page
def decide(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """One card: htmx swaps it for the result, a plain form returns to the queue."""
    user: Any = request.user
    item = submissions.get_item(public_id, user)
    outcome, reason = request.POST.get("outcome", ""), _reason(request)
    refusal = ""
    try:
        _check(outcome, reason)
        service.decide(
            item, moderator=user, outcome=outcome, reason=reason, idempotency_key=key_of(request),
            seen=request.POST.get("seen") or None,
        )  # fmt: skip
    except NotFound:
        raise
    except MarketError as error:
        refusal = explain(error)
    item.refresh_from_db()
    if request.htmx:  # type: ignore[attr-defined]
        context = {"item": item, "refusal": refusal, "reasons": REASONS, "key": new_key(), "reason": reason}
        template = "_card.html" if refusal and item.needs_review else "_decided.html"
        return render(request, f"marketplace/moderation/{template}", context)
    if refusal:
        messages.error(request, refusal)
    else:
        messages.success(request, _("%(item)s: decided.") % {"item": item.name})
    if request.POST.get("back") == "item":
        return redirect("web:submission-item", public_id=item.public_id)
    return redirect(_back(request))


@require_POST
@button("web:moderation")
def decide_many(request: HttpRequest) -> HttpResponseBase:
    """All ticked items get the same outcome and reason, or none does."""
    user: Any = request.user
    ids = request.POST.getlist("items")[: MAX_MANY + 1]
    outcome, reason = request.POST.get("outcome", ""), _reason(request)
    if not ids:
        raise InvalidInput(_("Tick at least one item first."))
    if len(ids) > MAX_MANY:
        raise InvalidInput(_("At most %(limit)s items at once.") % {"limit": MAX_MANY})
    _check(outcome, reason)
    found = [submissions.get_item(one, user) for one in ids]
    done = service.decide_many(
        found, moderator=user, outcome=outcome, reason=reason, idempotency_key=key_of(request)
    )
    message = ngettext("%(n)s item decided.", "%(n)s items decided.", len(done)) % {"n": len(done)}
    messages.success(request, message)
    return redirect(_back(request))


def _reason(request: HttpRequest) -> str:
    chosen, typed = request.POST.get("reason", "").strip(), request.POST.get("words", "").strip()
    given = " ".join(part for part in (chosen, typed) if part)[:500]
    if not given and request.POST.get("outcome") == Item.State.ACCEPTED:
        return _("A moderator looked at it and found it good.")
    return given


def _check(outcome: str, reason: str) -> None:
    if outcome not in (Item.State.ACCEPTED, Item.State.REJECTED):
        raise InvalidInput(_("Choose accept or reject."))
    if outcome == Item.State.REJECTED and not reason:
        raise InvalidInput(_("Give a reason: the contributor will read it."))


def _back(request: HttpRequest) -> str:
    """The queue as it was filtered; only our own addresses."""
    query = request.POST.get("query", "")
    return reverse("web:moderation") + (f"?{query}" if query else "")
