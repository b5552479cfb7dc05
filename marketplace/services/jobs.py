"""A training job's life at the market: created with its credits locked, started, cancelled, traced.

What its rounds are paid for is services.metering's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4, uuid5

from django.db import IntegrityError, transaction
from django.utils import timezone

from ledger import service as ledger
from marketplace.errors import InvalidInput, KeyReused, NotAllowed, NotFound, WrongState
from marketplace.models import Job, Release, ReleaseItem, User
from marketplace.rules import pricing, states
from marketplace.rules.money import MAX_NANO, format_hyd
from marketplace.services.books import translated
from marketplace.services.metering import (
    RoundsResult,
    attach_checkpoint,
    finish_job,
    record_metrics,
    record_rounds,
    settle,
)
from trainer.recipes import RecipeError, RecipeSpec, fetch_spec, validate_parameters
from trainer.wire import batch_indices

__all__ = [
    "JobDraft", "RoundsResult", "advance_jobs", "attach_checkpoint", "cancel_job", "create_job", "finish_job",
    "record_metrics", "record_rounds", "start_job", "trace_batch",
]  # fmt: skip
JOBS = UUID(
    "5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11"
)  # names jobs by owner and key, so that a retry finds its job
STRATEGIES = ("sync",)
MAX_LIMIT = MAX_NANO // 1000  # so that sums over many jobs stay within 64 bits


@dataclass(frozen=True)
class JobDraft:
    """`credit_limit` in nano credits: locked at once, what is not used comes back."""

    release: Release
    recipe: str
    parameters: Mapping[str, Any]
    credit_limit: int
    strategy: str = "sync"


def create_job(owner: User, draft: JobDraft, *, key: str) -> Job:
    """A job in state funding, its credits on their way into escrow; the same key and draft return the same job.

    Raises: InvalidInput (release, recipe, parameters.<name>, strategy, credit_limit_nano), FundsShort, KeyReused,
    Unavailable.
    """
    spec, parameters = _check_draft(draft)
    job = Job(
        public_id=uuid5(JOBS, f"{owner.public_id}:{key}") if key else uuid4(),
        owner=owner,
        release=draft.release,
        recipe=spec.name,
        recipe_version=spec.version,
        parameters=parameters,
        strategy=draft.strategy,
        credit_limit=draft.credit_limit,
        nano_per_sample=spec.nano_per_sample,
    )
    if (earlier := Job.objects.filter(public_id=job.public_id).first()) is not None:
        return _same(earlier, job)
    try:
        with transaction.atomic(), translated():
            job.save(force_insert=True)
            ledger.lock_credits(
                owner.ledger_ref, job.ledger_ref, job.credit_limit, key=f"lock:{job.public_id}"
            )
    except IntegrityError:
        earlier = Job.objects.filter(public_id=job.public_id).first()
        if earlier is None:
            raise
        return _same(earlier, job)
    return job


def _same(earlier: Job, wanted: Job) -> Job:
    compared = ("release_id", "recipe", "parameters", "strategy", "credit_limit")
    if any(getattr(earlier, name) != getattr(wanted, name) for name in compared):
        raise KeyReused
    return earlier


def _check_draft(draft: JobDraft) -> tuple[RecipeSpec, dict[str, Any]]:
    if draft.release.state != Release.State.READY:
        raise InvalidInput("The release is not ready.", fields={"release": "one that is ready"})
    if draft.strategy not in STRATEGIES:
        raise InvalidInput("Unknown strategy.", fields={"strategy": f"one of {', '.join(STRATEGIES)}"})
    try:
        spec = fetch_spec(draft.recipe)
        parameters = validate_parameters(spec, draft.parameters)
    except RecipeError as error:
        place = (
            error.parameter
            if error.parameter in {"recipe", "parameters"}
            else f"parameters.{error.parameter}"
        )
        raise InvalidInput(error.message, fields={place: error.message}) from error
    modality = draft.release.campaign.modality
    if spec.modality != modality:
        message = f"{spec.title} trains on {spec.modality} data; this release holds {modality} data."
        raise InvalidInput(message, fields={"recipe": message})
    _check_limit(draft.credit_limit, spec, parameters)
    return spec, dict(parameters)


def _check_limit(limit: int, spec: RecipeSpec, parameters: Mapping[str, Any]) -> None:
    one_step = pricing.charge(int(parameters["batch_size"]), spec.nano_per_sample)
    if not isinstance(limit, bool) and isinstance(limit, int) and limit > MAX_LIMIT:
        message = f"At most {format_hyd(MAX_LIMIT)} credits can be locked for one job."
        raise InvalidInput(message, fields={"credit_limit_nano": message})
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < one_step:
        message = f"One step costs {format_hyd(one_step)} credits; the limit has to cover at least that."
        raise InvalidInput(message, fields={"credit_limit_nano": message})


def start_job(job: Job, *, now: datetime | None = None) -> Job:
    """The backbone begins. Starting what runs changes nothing. Raises: WrongState."""
    ready = Job.objects.filter(pk=job.pk, state=Job.State.READY)
    ready.update(state=Job.State.RUNNING, started_at=now or timezone.now())
    job.refresh_from_db()
    if job.state != Job.State.RUNNING:
        raise WrongState(f"The job is {job.get_state_display().lower()}; it cannot be started.")
    return job


def cancel_job(job: Job, *, by: User, now: datetime | None = None) -> Job:
    """Ends a job early: what its rounds used is settled, the rest comes back. Twice changes nothing.

    Raises: NotAllowed; WrongState where it is over already.
    """
    if job.owner_id != by.pk and not by.is_superuser:
        raise NotAllowed("Only its owner cancels a job.")
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.state == Job.State.CANCELLED or locked.outcome == "cancelled":
            return locked
        if locked.is_over or locked.state == Job.State.SETTLING:
            raise WrongState(f"The job is {locked.get_state_display().lower()}.")
        locked.reason = "Cancelled by its owner."
        settle(locked, "cancelled", now or timezone.now())
    return locked


def advance_jobs(*, now: datetime | None = None) -> int:
    """Moves jobs on as far as their escrows allow: funding → ready, settling → over. Returns: how many moved."""
    at, moved = now or timezone.now(), 0
    waiting = Job.objects.filter(state__in=[Job.State.FUNDING, Job.State.READY, Job.State.SETTLING])
    for job in waiting.only("public_id", "state", "outcome"):
        moved += _advance(job, at)
    return moved


def _advance(job: Job, now: datetime) -> int:
    status = ledger.escrow(job.ledger_ref).status
    rows = Job.objects.filter(pk=job.pk, state=job.state)
    if job.state == Job.State.FUNDING and status == "locked":
        return rows.update(state=Job.State.READY)
    if job.state == Job.State.READY and status == "pending":  # its block was reorganised away before it began
        return rows.update(state=Job.State.FUNDING)
    if job.state in {Job.State.FUNDING, Job.State.READY} and status == "failed":
        reason = "The contract refused to lock the credits; they are back on the account."
        return rows.update(state=Job.State.FAILED, outcome="failed", reason=reason, finished_at=now)
    if job.state == Job.State.SETTLING and status in {"settled", "released"}:
        final = job.outcome if states.may_follow(states.JOB, job.state, job.outcome) else Job.State.FAILED
        return rows.update(state=final, finished_at=now)
    return 0


def trace_batch(job: Job, step: int) -> list[str]:
    """The ids of the items that this step trained on, in the order they were drawn.

    Raises: NotFound where the step has no committed round.
    """
    committed = job.rounds.filter(step=step).first() if 0 <= step < 2**31 else None
    if committed is None:
        raise NotFound("No round was committed for this step.")
    record = committed.record
    drawn = batch_indices(record["seed"], record["n_items"], step, record["batch"])
    rows = ReleaseItem.objects.filter(release=job.release_id, split="train", position__in=set(drawn))
    ids = dict(rows.values_list("position", "item__public_id"))
    return [str(ids[position]) for position in drawn]
