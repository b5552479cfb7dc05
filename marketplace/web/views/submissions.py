"""What became of uploads: the list, one submission as it is validated, one item with its evidence and money."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from marketplace.models import Item, Submission
from marketplace.selectors import submissions as rows
from marketplace.services import submissions as service
from marketplace.web.doors import button, member_page
from marketplace.web.figures import equation_of
from marketplace.web.views import page_of


@require_GET
@member_page
def index(request: HttpRequest) -> HttpResponse:
    found = rows.of_user(request.user).order_by("-created_at", "-pk")
    return render(request, "marketplace/submissions/index.html", {"page": page_of(request, found)})


@require_GET
@member_page
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    """`?state=` shows the items of one state; htmx asks for the live part alone while validation runs."""
    only_status = request.htmx.target == "live"  # type: ignore[attr-defined]
    submission = rows.get(public_id, request.user)
    state = request.GET.get("state", "")
    state = state if state in Item.State.values else ""
    context = {
        "submission": submission,
        "counts": equation_of(submission.items.all()),
        "state": state,
        "page": page_of(request, rows.items(submission, state=state), 48),
        "is_live": submission.state in (Submission.State.QUEUED, Submission.State.VALIDATING),
        "is_mine": submission.contributor_id == request.user.pk,
    }
    receiving = context["is_mine"] and submission.state == Submission.State.RECEIVING
    context["may_finish"] = receiving and submission.items.exists()
    context["may_add"] = receiving and submission.campaign.accepts_uploads(timezone.now())
    context["refresh_items"] = only_status and not context["is_live"]
    template = "marketplace/submissions/_live.html" if only_status else "marketplace/submissions/detail.html"
    return render(request, template, context)


@require_POST
@button("web:submission", "public_id")
def finish(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """Ends an upload that broke off: what has arrived is checked."""
    service.complete_submission(rows.get(public_id, request.user), by=request.user)  # type: ignore[arg-type]
    messages.success(request, _("The upload is finished. The checks start as soon as a worker is free."))
    return redirect("web:submission", public_id=public_id)


@require_GET
@member_page
def item(request: HttpRequest, public_id: str) -> HttpResponse:
    found = rows.get_item(public_id, request.user)
    detail = rows.item_detail(found, request.user)
    return render(request, "marketplace/submissions/item.html", {"item": found, "detail": detail})
