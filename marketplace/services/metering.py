"""What a job's rounds are charged and paid for: records verified, samples counted, the escrow settled.

Only rounds signed by enrolled, active peers count, once per step, within what the locked credits pay for.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ledger import service as ledger
from marketplace.errors import InvalidInput, TooLarge, WrongState
from marketplace.models import Job, JobEarning, JobMetric, JobRound, Peer
from marketplace.models.writing import update_rows
from marketplace.rules import pricing
from marketplace.services import storage
from marketplace.services.books import translated
from trainer.errors import WireError
from trainer.wire import RoundRecord, verify_record

OUTCOMES = ("completed", "stopped", "failed")
MAX_CHECKPOINT_BYTES = 512 * 2**20
MAX_METRICS_BYTES = 64 * 1024


@dataclass(frozen=True)
class RoundsResult:
    """`repeated`: steps that were recorded before, and are neither charged nor paid again."""

    recorded: int
    repeated: int


def record_rounds(job: Job, records: Sequence[Mapping[str, Any]]) -> RoundsResult:
    """Charges committed rounds, all of the list or none; a step counts once, whoever sends it again.

    Raises: InvalidInput (records.<index>) for what is malformed, wrongly signed, of another job, or beyond the
    credits; WrongState where the job is not running.
    """
    parsed = [_parse(index, record) for index, record in enumerate(records)]
    with transaction.atomic():
        locked = Job.objects.select_for_update().select_related("release").get(pk=job.pk)
        steps = {record.step for record in parsed}
        known = set(locked.rounds.filter(step__in=steps).values_list("step", flat=True))
        fresh: dict[int, RoundRecord] = {}
        for index, record in enumerate(parsed):
            _check_record(index, record, locked)
            if record.step not in known:
                fresh.setdefault(record.step, record)
        if fresh:
            _require_running(locked)
            _charge(locked, list(fresh.values()), _check_signatures(parsed, fresh))
    return RoundsResult(len(fresh), len(parsed) - len(fresh))


def _parse(index: int, record: Mapping[str, Any]) -> RoundRecord:
    try:
        return RoundRecord.from_dict(record)
    except WireError as error:
        raise _refuse(index, str(error)) from error


def _refuse(index: int, message: str) -> InvalidInput:
    return InvalidInput(f"Record {index}: {message}", fields={f"records.{index}": message})


def _check_record(index: int, record: RoundRecord, job: Job) -> None:
    expected = {
        "job": str(job.public_id),
        "batch": job.parameters["batch_size"],
        "seed": job.parameters["seed"],
        "n_items": job.release.train_items,
    }
    for name, value in expected.items():
        if getattr(record, name) != value:
            raise _refuse(index, f"{name} is {getattr(record, name)!r}; this job's is {value!r}.")
    if record.step >= job.parameters["steps"]:
        raise _refuse(index, f"step {record.step} is beyond the job's {job.parameters['steps']} steps.")


def _check_signatures(parsed: Sequence[RoundRecord], fresh: Mapping[int, RoundRecord]) -> dict[str, Peer]:
    """The peers that signed, by id. Raises: InvalidInput for peers that are unknown, retired or did not sign."""
    wanted = {member.peer_id for record in fresh.values() for member in record.members}
    peers = {peer.peer_id: peer for peer in Peer.objects.filter(peer_id__in=wanted, active=True)}
    keys = {peer_id: peer.public_key for peer_id, peer in peers.items()}
    for index, record in enumerate(parsed):
        if fresh.get(record.step) is record:
            try:
                verify_record(record, keys)
            except WireError as error:
                raise _refuse(index, str(error)) from error
    return peers


def _require_running(job: Job) -> None:
    if job.state != Job.State.RUNNING:
        raise WrongState(f"The job is {job.get_state_display().lower()}; it takes no rounds.")


def _charge(job: Job, records: Sequence[RoundRecord], peers: Mapping[str, Peer]) -> None:
    added = sum(record.samples for record in records)
    if job.samples + added > job.sample_limit:
        message = (
            f"{job.samples} + {added} samples exceed the {job.sample_limit} that the locked credits pay for."
        )
        raise InvalidInput(message, fields={"records": message}, code="beyond_limit")
    JobRound.objects.bulk_create(
        JobRound(
            job=job, step=one.step, term=one.term, samples=one.samples, loss=one.loss, record=one.to_dict()
        )
        for one in records
    )
    counts: Counter[str] = Counter()
    for record in records:
        for member in record.members:
            counts[member.peer_id] += member.samples
    _add_samples(job, {peers[peer_id]: samples for peer_id, samples in counts.items()})
    job.samples += added
    job.charged = pricing.charge(job.samples, job.nano_per_sample)
    job.step = max(job.step, *(record.step + 1 for record in records))
    job.save(update_fields=["samples", "charged", "step"])


def _add_samples(job: Job, samples: Mapping[Peer, int]) -> None:
    JobEarning.objects.bulk_create(
        [JobEarning(job=job, peer=peer) for peer in sorted(samples, key=lambda peer: peer.pk)],
        ignore_conflicts=True,
    )
    for peer, count in samples.items():
        JobEarning.objects.filter(job=job, peer=peer).update(samples=F("samples") + count)


def record_metrics(job: Job, points: Sequence[Mapping[str, Any]]) -> int:
    """Adds points to the job's curve; a step that was measured again gets the newer values.

    Returns: how many steps were written. Raises: WrongState where the job is over.
    """
    _require_open(job)
    newest = {int(point["step"]): point for point in points}
    rows = [
        JobMetric(job=job, step=step, loss=point.get("loss"), accuracy=point.get("accuracy"))
        for step, point in sorted(newest.items())
    ]
    JobMetric.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["job", "step"], update_fields=["loss", "accuracy"]
    )
    return len(rows)


def _require_open(job: Job) -> None:
    if job.is_over:
        raise WrongState(f"The job is {job.get_state_display().lower()}.")


def attach_checkpoint(
    job: Job, *, step: int, content: bytes, metrics: Mapping[str, Any] | None = None
) -> Job:
    """Keeps the newest checkpoint (safetensors) of a job; an older one than is there changes nothing.

    Raises: InvalidInput (file), TooLarge, WrongState.
    """
    _check_safetensors(content)
    digest = sha256(content).hexdigest()
    key = storage.store(f"jobs/{job.public_id}/{step:09d}-{digest[:16]}.safetensors", content)
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        _require_open(locked)
        if locked.checkpoint_step is not None and step < locked.checkpoint_step:
            return locked
        former, locked.checkpoint_key = locked.checkpoint_key, key
        locked.checkpoint_sha256, locked.checkpoint_step = digest, step
        if metrics:
            locked.metrics = _check_metrics(metrics)
        locked.save(update_fields=["checkpoint_key", "checkpoint_sha256", "checkpoint_step", "metrics"])
        if former and former != key:
            transaction.on_commit(lambda: default_storage.delete(former))
    return locked


def _check_safetensors(content: bytes) -> None:
    """The layout only: eight bytes of length, a JSON header of that length. Nothing is ever unpickled.

    Source: the safetensors format, https://github.com/huggingface/safetensors#format
    """
    if len(content) > MAX_CHECKPOINT_BYTES:
        raise TooLarge(
            f"A checkpoint has at most {MAX_CHECKPOINT_BYTES:,} bytes.", fields={"file": "too large"}
        )
    length = int.from_bytes(content[:8], "little")
    try:
        if len(content) < 8 or length > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = json.loads(content[8 : 8 + length])
        if not isinstance(header, dict):
            raise ValueError("the header is no object")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("This is no safetensors file.", fields={"file": str(error)}) from error


def _check_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    if len(json.dumps(dict(metrics))) > MAX_METRICS_BYTES:
        raise InvalidInput(
            "The metrics are too large.", fields={"metrics": f"at most {MAX_METRICS_BYTES} bytes"}
        )
    return dict(metrics)


def finish_job(
    job: Job,
    *,
    outcome: str,
    step: int,
    metrics: Mapping[str, Any] | None = None,
    reason: str = "",
    now: datetime | None = None,
) -> Job:
    """The backbone's report that training ended; what was used is settled, the rest comes back.

    Reporting again, or after a cancellation, changes nothing. Raises: InvalidInput (outcome), WrongState.
    """
    if outcome not in OUTCOMES:
        raise InvalidInput("Unknown outcome.", fields={"outcome": f"one of {', '.join(OUTCOMES)}"})
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if locked.is_over or locked.state == Job.State.SETTLING:
            return locked
        if locked.state == Job.State.FUNDING:
            raise WrongState("The job's credits are not locked yet; it cannot have ended.")
        locked.reason = reason[:500]
        locked.metrics = _check_metrics(metrics) if metrics else locked.metrics
        settle(locked, outcome, now or timezone.now())
    return locked


def settle(job: Job, outcome: str, now: datetime) -> None:
    """Ends a job whose row the caller holds: the escrow is asked to pay by samples, or to give everything back."""
    job.outcome = outcome
    job.state = Job.State.SETTLING
    earnings = list(JobEarning.objects.filter(job=job, samples__gt=0).select_related("peer__user"))
    shares = pricing.settle(job.charged, {one.peer.peer_id: one.samples for one in earnings})
    for one in earnings:
        one.amount = shares.payouts[one.peer.peer_id]
    update_rows(earnings, ("amount",))
    for one in earnings:
        Peer.objects.filter(pk=one.peer_id).update(samples_total=F("samples_total") + one.samples)
    with translated():
        if job.charged:
            payouts = [(one.peer.user.ledger_ref, one.amount) for one in earnings]
            ledger.settle_job(job.ledger_ref, job.charged, payouts, key=f"settle:{job.public_id}")
        else:
            ledger.release_job(job.ledger_ref, key=f"release:{job.public_id}")
    job.finished_at = now
    job.save(update_fields=["outcome", "state", "reason", "metrics", "finished_at"])
