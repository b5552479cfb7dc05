"""One job as the backbone runs it: its files, its replica, when it ends, and what the market is told of it."""

import asyncio
import hashlib
import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.backbone.folder import JobFolder
from trainer.clock import Clock, iso
from trainer.config import BackboneSettings
from trainer.errors import BadMessage, ReleaseInvalid
from trainer.market.api import Market
from trainer.market.outbox import Outbox
from trainer.net.pieces import PieceStore
from trainer.swarm.planning import Course
from trainer.wire.canonical import canonical_json, parse_json
from trainer.wire.fields import INT53, Checked, integer, json_object, rule, text
from trainer.wire.manifest import parse_files, without_tests
from trainer.wire.messages import Assign
from trainer.wire.records import JOB, RoundRecord

log = logging.getLogger("hydra.backbone")
SAVE_S = 3.0  # a slow job is made durable, and shown in the market, at least this often
CURVE_POINTS = 20
RECORDS = 100  # in one post: well within what the market takes


class Ticket(Checked):
    """A runnable job, as the market lists it."""

    KIND = "job"
    id: str = rule(JOB)
    release: str = rule(JOB)
    recipe: str = rule(text(60, shortest=1))
    recipe_version: str = rule(text(20))
    parameters: dict[str, Any] = rule(json_object(20_000))
    strategy: str = rule(text(20))
    sample_limit: int = rule(integer(0, INT53))

    @classmethod
    def of_listing(cls, entry: Mapping[str, Any]) -> "Ticket":
        """Raises BadMessage."""
        wanted = cls.__dataclass_fields__
        return cls.from_dict({name: value for name, value in entry.items() if name in wanted})


@dataclass(frozen=True)
class Place:
    """Where a job runs: the backbone's settings, disk, clock and doors."""

    settings: BackboneSettings
    market: Market
    outbox: Outbox
    store: PieceStore
    clock: Clock


class JobRun:
    """Implements swarm's LedJob. `prepare` first; it blocks, and is to be called in a thread."""

    course: Course
    assign: Assign
    manifest: bytes

    def __init__(self, ticket: Ticket, place: Place, is_stopping: Callable[[], bool]) -> None:
        self.ticket, self.place = ticket, place
        self.folder = JobFolder(place.settings.home, ticket.id)
        self.cancelled = False
        self._is_stopping = is_stopping
        self._pending: list[RoundRecord] = []
        self._saved_at = place.clock.monotonic()
        self._started = False
        self._evaluating: asyncio.Task[None] | None = None
        self._measured_step = -1
        self.metrics: dict[str, Any] = {}

    # making ready

    def prepare(self) -> None:
        """Fetches the release, builds the replica, continues from the newest durable state.

        Raises: MarketError (try again), ReleaseInvalid (the job has failed).
        """
        from trainer.strategies.build import build_replica, check_version

        ticket = self.ticket
        if ticket.strategy != "sync":
            raise ReleaseInvalid(ticket.release, f"strategy {ticket.strategy!r} is not known here; use sync")
        check_version(ticket.recipe, ticket.recipe_version)
        full = self._fetch_manifest()
        paths = {role: self._fetch_files(full, role) for role in ("train", "test")}
        train_manifest = without_tests(full)
        self.replica = build_replica(ticket.recipe, ticket.parameters, train_manifest, paths["train"])
        self.test = self.replica.recipe.decode(paths["test"], full)
        self.full = full
        self.manifest = canonical_json(train_manifest)
        self._describe()
        state = self.folder.find_state()
        if state is not None:
            self.replica.import_state(state)
            log.info("job %s: continues at step %d", ticket.id[:8], self.replica.step)

    def _describe(self) -> None:
        ticket, replica = self.ticket, self.replica
        self.params = replica.params
        self.steps = int(self.params["steps"])
        self.course = Course(
            job=ticket.id, batch=int(self.params["batch_size"]), seed=int(self.params["seed"]),
            n_items=replica.n_items, size=replica.size, dtype=replica.dtype,
        )  # fmt: skip
        self.assign = Assign(
            job=ticket.id, recipe=ticket.recipe, recipe_version=ticket.recipe_version,
            parameters=dict(self.params), holders=(),
        )  # fmt: skip
        self._evaluate_every = self.place.settings.evaluate_every or max(1, self.steps // CURVE_POINTS)

    def _fetch_manifest(self) -> dict[str, Any]:
        raw = self.place.market.fetch_manifest(self.ticket.release)
        self.manifest_sha256 = hashlib.sha256(raw).hexdigest()
        try:
            return parse_json(raw, "manifest")
        except BadMessage as error:
            raise ReleaseInvalid(self.ticket.release, str(error)) from error

    def _fetch_files(self, manifest: dict[str, Any], role: str) -> list[Path]:
        """Only train files are put in the store that volunteers are served from."""
        folder, paths = self.place.settings.home / "releases" / self.ticket.release, []
        for file in parse_files(manifest, role):
            path = self.place.market.fetch_release_file(self.ticket.release, file, folder)
            if role == "train":
                self.place.store.add(file, path)
            paths.append(path)
        if not paths:
            raise ReleaseInvalid(self.ticket.release, f"it has no {role} files")
        return paths

    # what the leader asks

    def find_end(self) -> str | None:
        if self._is_stopping():
            return "the backbone stops; the job goes on when it is back"
        if self.cancelled:
            return "the job was cancelled"
        if self.replica.step >= self.steps:
            return "all steps are done"
        if (self.replica.step + 1) * self.course.batch > self.ticket.sample_limit:
            return f"the credits pay for {self.ticket.sample_limit} samples; another step would exceed them"
        return None

    def next_term(self) -> int:
        return self.folder.next_term()

    async def committed(self, record: RoundRecord) -> None:
        self._pending.append(record)
        waited = self.place.clock.monotonic() - self._saved_at
        if len(self._pending) >= self.place.settings.checkpoint_every or waited >= SAVE_S:
            await asyncio.to_thread(self.save)
        if self.replica.step % self._evaluate_every == 0 and self.replica.step < self.steps:
            self._evaluate_beside()

    def save(self) -> None:
        """Makes the job durable: first what is owed to volunteers, then the state that goes with it.

        A death between the two repeats steps whose records the market already has and ignores.
        """
        if not self._started:
            self.place.outbox.put(f"/network/jobs/{self.ticket.id}/start", {})
            self._started = True
        records = [record.to_dict() for record in self._pending]
        for first in range(0, len(records), RECORDS):
            body = {"records": records[first : first + RECORDS]}
            self.place.outbox.put(f"/network/jobs/{self.ticket.id}/rounds", body)
        self._pending = []
        self.folder.save_state(self.replica.export_state())
        self._saved_at = self.place.clock.monotonic()

    # measuring, and the end

    def _evaluate_beside(self) -> None:
        """On a copy, beside the training; a measurement still running makes this one be left out."""
        if self._evaluating is None or self._evaluating.done():
            twin, step = self.replica.copy_model(), self.replica.step
            self._evaluating = asyncio.create_task(asyncio.to_thread(self._measure, twin, step))

    def _measure(self, model: Any, step: int) -> None:
        measured = finite(self.replica.recipe.evaluate(model, self.test))
        self.metrics = {**measured, "step": step}
        self._measured_step = step
        at = iso(self.place.clock.wall())
        point = {"step": step, "loss": measured["loss"], "accuracy": measured["accuracy"], "at": at}
        self.place.outbox.put(f"/network/jobs/{self.ticket.id}/metrics", {"points": [point]})
        log.info(
            "job %s step %d: held-out accuracy %s, loss %s",
            self.ticket.id[:8], step, shown(measured["accuracy"]), shown(measured["loss"]),
        )  # fmt: skip

    async def end(self, reason: str) -> None:
        """After the leader has returned: a durable pause, or the final measurement, checkpoint and finish.

        A job that the market lists no more is paused too: should it be listed again, it goes on.
        """
        if self._evaluating is not None:
            await self._evaluating
        if self._is_stopping() or self.cancelled:
            await asyncio.to_thread(self._pause)
            log.info("job %s: %s", self.ticket.id[:8], reason)
        else:
            done = self.replica.step >= self.steps
            await asyncio.to_thread(self.finish, "completed" if done else "stopped", "" if done else reason)

    def _pause(self) -> None:
        if self._pending:
            self.save()

    def finish(self, outcome: str, reason: str) -> None:
        """Tells the market everything, in order; from here on the outbox sees it through."""
        if self._pending or not self._started:
            self.save()
        step, path = self.replica.step, f"/network/jobs/{self.ticket.id}"
        if self._measured_step != step:
            self._measure(self.replica.model, step)
        fields = {"step": str(step), "metrics": json.dumps(self.metrics)}
        self.place.outbox.put(f"{path}/checkpoint", fields, self._encode_checkpoint())
        self.place.outbox.put(
            f"{path}/finish",
            {"outcome": outcome, "step": step, "metrics": self.metrics, "reason": reason[:500]},
        )
        self.folder.mark_over()
        log.info("job %s: %s at step %d %s", self.ticket.id[:8], outcome, step, reason)

    def fail(self, reason: str) -> None:
        """A job that could not even begin, or broke: nothing to keep but the reason."""
        body = {"outcome": "failed", "step": 0, "metrics": self.metrics, "reason": reason[:500]}
        self.place.outbox.put(f"/network/jobs/{self.ticket.id}/finish", body)
        self.folder.mark_over()
        log.error("job %s: failed: %s", self.ticket.id[:8], reason)

    def _encode_checkpoint(self) -> bytes:
        from trainer.recipes.checkpoint import About, encode

        about = About(
            recipe=self.ticket.recipe, recipe_version=self.ticket.recipe_version, classes=tuple(self.full["classes"]),
            schema=self.full["schema"], parameters=dict(self.params), step=self.replica.step,
            release=self.ticket.release, release_sha256=self.manifest_sha256,
        )  # fmt: skip
        return encode(self.replica.model, about)


def finite(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The same with None for what is no number: JSON has no NaN, and a model that diverged has to be told all the same.

    >>> finite({"loss": float("nan"), "accuracy": 0.1})
    {'loss': None, 'accuracy': 0.1}
    """
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in measured.items()
    }


def shown(value: float | None) -> str:
    return "not a number" if value is None else f"{value:.4f}"
