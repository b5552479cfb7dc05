"""Training jobs: the list, a new one with its cost before it is sent, one as it runs, and what was in each batch."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.storage import default_storage
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from marketplace.errors import MarketError, NotFound
from marketplace.models import Item, Job, Release
from marketplace.selectors import jobs as rows
from marketplace.selectors import releases
from marketplace.selectors import rewards as money
from marketplace.services import jobs as service
from marketplace.web.doors import button, key_of, member_page, new_key, show_on_form
from marketplace.web.figures import round_rows
from marketplace.web.forms.job import JobForm
from marketplace.web.views import page_of
from trainer.recipes import RECIPES, RecipeSpec

SHOWN_ROUNDS = 12


@require_GET
@member_page
def index(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    found = rows.of_user(user).select_related("release__campaign")
    return render(request, "marketplace/jobs/index.html", {"page": page_of(request, found)})


@member_page
def create(request: HttpRequest) -> HttpResponseBase:
    """`?release=` and `?recipe=` choose; a POST with `preview` only works out the cost."""
    user: Any = request.user
    ready = releases.visible_to(user).filter(state=Release.State.READY).select_related("campaign")
    asked = request.POST.get("release") or request.GET.get("release")
    release = releases.get(asked, user) if asked else None
    if release is None or release.state != Release.State.READY:
        return render(request, "marketplace/jobs/choose.html", {"page": page_of(request, ready, 24)})
    spec, choices = _choose_recipe(request, release)
    form = JobForm(spec, request.POST or None)
    is_preview = "preview" in request.POST
    if request.method == "POST" and form.is_valid() and not is_preview:
        draft = service.JobDraft(release, spec.name, form.parameters(), form.credit_limit())
        try:
            job = service.create_job(user, draft, key=key_of(request))
        except MarketError as error:
            show_on_form(form, _as_limit(error))
        else:
            messages.success(
                request, _("The job is made. It starts once its credits are locked and a volunteer is free.")
            )
            return redirect("web:job", public_id=job.public_id)
    context = {
        "release": release, "spec": spec, "recipes": choices, "form": form, "estimate": _estimate(form),
        "balances": money.balances(user), "key": request.POST.get("key") or new_key(),
    }  # fmt: skip
    name = "_cost.html" if is_preview and request.htmx else "new.html"  # type: ignore[attr-defined]
    return render(request, f"marketplace/jobs/{name}", context)


def _choose_recipe(request: HttpRequest, release: Release) -> tuple[RecipeSpec, list[RecipeSpec]]:
    """The recipe asked for where it fits the release, else the first that does."""
    choices = [spec for spec in RECIPES.values() if spec.modality == release.campaign.modality]
    asked = request.POST.get("recipe") or request.GET.get("recipe")
    return next((spec for spec in choices if spec.name == asked), choices[0]), choices


def _estimate(form: JobForm) -> int | None:
    return form.estimate() if form.is_bound else form.spec.cost(form.spec.defaults())


def _as_limit(error: MarketError) -> MarketError:
    """The form calls the credit limit `limit`, and has each parameter by its own name."""
    renamed = {place.removeprefix("parameters."): words for place, words in error.fields.items()}
    error.fields = {
        "limit" if place.startswith("credit_limit") else place: words for place, words in renamed.items()
    }
    return error


@require_GET
@member_page
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    """htmx asks for the live part alone."""
    job = rows.get(public_id, request.user)
    context = _live_context(job) | {"curve": _curve(job)}
    live = request.htmx and not request.htmx.boosted  # type: ignore[attr-defined]
    return render(request, "marketplace/jobs/_live.html" if live else "marketplace/jobs/detail.html", context)


def _live_context(job: Job) -> dict[str, Any]:
    earnings, now = list(rows.earnings(job)), timezone.now()
    names = {one.peer.peer_id: one.peer.name for one in earnings} | {
        peer.peer_id: peer.name for peer in rows.peers(job)
    }
    last = list(rows.rounds(job).order_by("-step")[: SHOWN_ROUNDS + 1])[::-1]
    shown = round_rows(last, names)
    return {
        "job": job,
        "spec": RECIPES.get(job.recipe),
        "earnings": [(one, one.peer.is_online(now, settings.HYDRA_BACKBONE_STALE_S)) for one in earnings],
        "peers": rows.peers(job),
        "rounds": shown[-SHOWN_ROUNDS:][::-1],
        "steps": job.parameters.get("steps"),
        "may_cancel": job.state in (Job.State.FUNDING, Job.State.READY, Job.State.RUNNING),
    }


@require_GET
@member_page
def curve(request: HttpRequest, public_id: str) -> JsonResponse:
    """The points so far and whether more may come; the chart polls this."""
    job = rows.get(public_id, request.user)
    return JsonResponse({"over": job.is_over, "points": _curve(job)})


def _curve(job: Job) -> list[dict[str, Any]]:
    return [{"step": one.step, "loss": one.loss, "accuracy": one.accuracy} for one in rows.curve(job)]


@require_GET
@member_page
def rounds(request: HttpRequest, public_id: str) -> HttpResponse:
    """Every committed round, oldest first."""
    job = rows.get(public_id, request.user)
    names = {peer.peer_id: peer.name for peer in rows.peers(job)}
    names |= {one.peer.peer_id: one.peer.name for one in rows.earnings(job)}
    current = page_of(request, rows.rounds(job).order_by("step"), 100)
    context = {"job": job, "page": current, "rounds": round_rows(current.object_list, names)}
    return render(request, "marketplace/jobs/rounds.html", context)


@require_GET
@member_page
def batch(request: HttpRequest, public_id: str, step: int) -> HttpResponse:
    """The items that were in one step's batch, in the sampler's order."""
    job = rows.get(public_id, request.user)
    ids = service.trace_batch(job, step)
    found = {
        str(one.public_id): one
        for one in Item.objects.filter(public_id__in=ids).select_related("contributor")
    }
    items = [found[str(one)] for one in ids if str(one) in found]
    return render(
        request, "marketplace/jobs/batch.html", {"job": job, "step": step, "items": items, "ids": ids}
    )


@require_GET
@member_page
def checkpoint(request: HttpRequest, public_id: str) -> HttpResponseBase:
    job = rows.get(public_id, request.user)
    if not job.checkpoint_key or not default_storage.exists(job.checkpoint_key):
        raise NotFound
    name = f"{job.recipe}-step-{job.checkpoint_step}.safetensors"
    file = default_storage.open(job.checkpoint_key, "rb")
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/octet-stream")


@require_POST
@button("web:job", "public_id")
def cancel(request: HttpRequest, public_id: str) -> HttpResponseBase:
    user: Any = request.user
    service.cancel_job(rows.get(public_id, user), by=user)
    messages.success(request, _("The job is being cancelled. Credits it did not use come back to you."))
    return redirect("web:job", public_id=public_id)
