"""Who takes part in a job: peers are told of it, prepare, and between two steps take over the state and are members."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from io import BytesIO
from typing import Protocol, TypeVar

from trainer.net.pieces import PieceStore
from trainer.swarm.planning import Course
from trainer.swarm.replica import Replica
from trainer.swarm.roster import Heard, Roster, Seat
from trainer.wire.files import PieceFile
from trainer.wire.messages import Address, Assign, Here, Prepared, Release, State, Synced, Unfit
from trainer.wire.records import RoundRecord

log = logging.getLogger("hydra.backbone")
T = TypeVar("T")
STATE_PIECE_BYTES = 2**20
MOST_HOLDERS = 16


class LedJob(Protocol):
    """What the network needs of whoever runs the job."""

    course: Course
    assign: Assign
    manifest: bytes

    @property
    def replica(self) -> Replica: ...

    def find_end(self) -> str | None:
        """Why the job is over, asked before each step; None: go on."""

    def next_term(self) -> int:
        """A term never used before in this job, not even before a restart."""

    async def committed(self, record: RoundRecord) -> None:
        """After the replica has taken the step."""


class Admission:
    """`me` serves pieces from `store`. `join_s`: how long members wait for joiners to take over the state."""

    def __init__(
        self, roster: Roster, store: PieceStore, me: Address, thread: Executor, join_s: float
    ) -> None:
        self.roster, self.store, self.me = roster, store, me
        self._thread, self._join_s = thread, join_s

    def seats(self, state: str) -> list[Seat]:
        return [seat for seat in self.roster.seats.values() if seat.state == state and not seat.leaving]

    async def offer_all(self, job: LedJob) -> None:
        for seat in [*self.roster.seats.values()]:
            await self._offer(job, seat)

    async def hear(self, job: LedJob, heard: Heard) -> None:
        """What is said about taking part, in a round or outside it."""
        seat, message = heard.seat, heard.message
        if seat is None or message is None or self.roster.seats.get(seat.peer_id) is not seat:
            return
        match message:
            case Here():
                await self._offer(job, seat)
            case Prepared() if message.job == job.assign.job and seat.state == "preparing":
                fits = (message.size, message.n_items) == (job.course.size, job.course.n_items)
                seat.state = "prepared" if fits else "unfit"
                seat.holds.add(message.job)
            case Unfit() if message.job == job.assign.job and message.step < 0:
                log.warning("peer %s cannot join job %s: %s", seat.name, message.job[:8], message.reason)
                seat.state = "unfit"
                if message.cause == "state":
                    self.roster.drop(seat)  # it comes back, after its back-off

    async def hear_all(self, job: LedJob, until: float) -> None:
        """Acts on what is waiting; when nothing is, waits for the next thing until then."""
        heard = await self.roster.next(until)
        while heard is not None:
            await self.hear(job, heard)
            heard = None if self.roster.heard.empty() else self.roster.heard.get_nowait()

    async def admit(self, job: LedJob) -> None:
        """Between steps: every prepared peer is sent the state; those that hold it in time are members."""
        joiners = self.seats("prepared")
        if not joiners:
            return
        replica = job.replica
        data, digest = await self.in_thread(lambda: (replica.export_state(), replica.state_digest()))
        file = PieceFile.of_stream("state", BytesIO(data), STATE_PIECE_BYTES)
        self.store.add(file, data)
        state = State(job=job.assign.job, step=replica.step, digest=digest, file=file, holders=(self.me,))
        for seat in joiners:
            seat.state = "syncing"
        await self.roster.tell(joiners, state)
        await self._await_synced(job, state)
        self.store.remove(file.sha256)

    def dismiss_leaving(self) -> None:
        """Closes the channel of every peer that asked to leave: to be called when no round is running."""
        for seat in [seat for seat in self.roster.seats.values() if seat.leaving]:
            self.roster.drop(seat)

    async def release(self, job: LedJob, reason: str) -> None:
        seats = [*self.roster.seats.values()]
        for seat in seats:
            seat.state = "idle"
        await self.roster.tell(seats, Release(job=job.assign.job, reason=reason))

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Runs in the one thread that may touch the replica."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _offer(self, job: LedJob, seat: Seat) -> None:
        if seat.state != "idle":
            return
        seat.state = "preparing"
        others = [other.address for other in self.roster.seats.values() if job.assign.job in other.holds]
        holders = tuple([self.me, *others][:MOST_HOLDERS])
        assign = Assign(**{**job.assign.to_dict(), "holders": holders})
        await self.roster.tell([seat], assign, job.manifest)

    async def _await_synced(self, job: LedJob, state: State) -> None:
        until = self.roster.endpoint.clock.monotonic() + self._join_s
        while self.seats("syncing") and (heard := await self.roster.next(until)) is not None:
            seat, message = heard.seat, heard.message
            if seat is None or not isinstance(message, Synced) or seat.state != "syncing":
                await self.hear(job, heard)
            elif (message.job, message.step, message.digest) == (state.job, state.step, state.digest):
                seat.state = "member"
                log.info("peer %s joins job %s at step %d", seat.name, state.job[:8], state.step)
        for seat in self.seats("syncing"):
            log.warning("peer %s did not take over the state in time, dropped", seat.name)
            seat.state = "unfit"
            self.roster.drop(seat, f"it did not take over the state within {self._join_s:g} s")
