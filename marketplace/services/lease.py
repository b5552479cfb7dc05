"""One worker per submission at a time: a lease on the submission's row, renewed as work goes on, timed by part."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import perf_counter

from django.db.models import QuerySet
from django.utils import timezone

from marketplace.models import Submission

State = Submission.State
BEAT_S = 3.0  # well below HYDRA_VALIDATION_STALE_S
PARTS = ("decode", "hash", "embed", "model", "database")


class LeaseLost(Exception):
    """Another worker took the submission over; stop, and write nothing more."""


class Lease:
    """The right to validate a submission. `validating_since` is both the sign of life and the token of the holder."""

    def __init__(self, submission: Submission, now: Callable[[], datetime]) -> None:
        self.submission = submission
        self._now = now
        self._stage = "Starting"

    @classmethod
    def take(cls, submission_id: int, *, now: Callable[[], datetime] = timezone.now) -> "Lease | None":
        """The lease of a queued submission; None where another worker has it, or there is nothing to do."""
        queued = Submission.objects.filter(pk=submission_id, state=State.QUEUED)
        if not queued.update(state=State.VALIDATING, validating_since=now(), stage="Starting"):
            return None
        submission = Submission.objects.select_related("campaign", "contributor").get(pk=submission_id)
        return cls(submission, now)

    def renew(self, stage: str, *, ahead_s: float = 0.0) -> None:
        """Says what is being done, and that it is alive; `ahead_s` for a step that will take longer than the limit.

        Raises: LeaseLost.
        """
        since = self._now() + timedelta(seconds=ahead_s)
        if not self._mine().update(validating_since=since, stage=stage[:40]):
            raise LeaseLost
        self.submission.validating_since, self._stage = since, stage

    def beat(self) -> None:
        """A sign of life within a step, every few seconds however often it is called. Raises: LeaseLost."""
        since = self.submission.validating_since
        if since is None or self._now() - since >= timedelta(seconds=BEAT_S):
            self.renew(self._stage)

    def close(self) -> None:
        """Ends the validation, in the caller's transaction with its results. Raises: LeaseLost."""
        if not self._mine().update(state=State.JUDGED, judged_at=self._now(), stage=""):
            raise LeaseLost

    def give_up(self, stage: str) -> None:
        """Puts the submission back into the queue: this worker cannot do it now."""
        self._mine().update(state=State.QUEUED, stage=stage[:40])

    def _mine(self) -> QuerySet[Submission]:
        return Submission.objects.filter(
            pk=self.submission.pk, state=State.VALIDATING, validating_since=self.submission.validating_since
        )


class Stopwatch:
    """Seconds by part, added to those of an earlier run that did not finish."""

    def __init__(self, earlier: dict[str, float] | None = None) -> None:
        self.seconds = {part: float((earlier or {}).get(part, 0.0)) for part in PARTS}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += perf_counter() - started

    def rounded(self) -> dict[str, float]:
        return {part: round(seconds, 4) for part, seconds in self.seconds.items()}
