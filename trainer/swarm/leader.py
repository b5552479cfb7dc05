"""The backbone leading a job: names each round, commits it, or plans it anew with the survivors.

The deciding is in planning and voting, who takes part in admission; here is who is told what, and when.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trainer.clock import iso
from trainer.errors import NotFinite
from trainer.swarm.admission import Admission, LedJob
from trainer.swarm.attesting import is_attested, make_record
from trainer.swarm.mesh import Mesh, collect
from trainer.swarm.planning import Turn, limit_round, plan_round
from trainer.swarm.roster import Seat
from trainer.swarm.voting import Aborted, Ballot, Committed, Waiting, decide
from trainer.wire.fields import Message
from trainer.wire.messages import Abort, Accuse, Commit, Done, Plan, Unfit

log = logging.getLogger("hydra.backbone")


@dataclass(frozen=True)
class LeaderSettings:
    """`check_every`: steps between comparisons of everybody's state. `poll_s`: how often an end is looked for while
    nobody takes part."""

    least_round_s: float = 20.0
    first_round_s: float = 60.0
    check_every: int = 20
    poll_s: float = 1.0


@dataclass
class _Progress:
    """What is remembered from round to round of one job."""

    term: int = -1
    named: tuple[str, ...] = ()
    round_s: list[float] = field(default_factory=list)
    barred: set[str] = field(default_factory=set)  # from this step: they got no finite number


class Leader:
    def __init__(self, admission: Admission, mesh: Mesh, settings: LeaderSettings) -> None:
        self.admission, self.mesh, self.settings = admission, mesh, settings
        self.roster, self.me = admission.roster, admission.me
        self.clock = self.roster.endpoint.clock

    async def lead(self, job: LedJob) -> str:
        """Runs the job to its end and returns why it ended. Raises NotFinite: the training has diverged."""
        progress, reason = _Progress(), "the backbone stops"
        try:
            await self.admission.offer_all(job)
            while (end := job.find_end()) is None:
                await self._step(job, progress)
            reason = end
            return end
        finally:
            self.mesh.end_job(job.assign.job)
            await self.admission.release(job, reason)

    async def idle(self, seconds: float) -> None:
        """Keeps the roster between jobs for a while."""
        until = self.clock.monotonic() + seconds
        while await self.roster.next(until) is not None:
            self.admission.dismiss_leaving()

    async def _step(self, job: LedJob, progress: _Progress) -> None:
        now = self.clock.monotonic()
        self.admission.dismiss_leaving()
        await self.admission.hear_all(job, now)
        await self.admission.admit(job)
        members = [seat for seat in self.admission.seats("member") if seat.peer_id not in progress.barred]
        if members:
            await self._round(job, members, progress)
        elif progress.barred:  # everybody who tried this step: it is not the peers, it is the training
            raise NotFinite(job.replica.step, "every peer's gradient")
        else:
            await self.admission.hear_all(job, now + self.settings.poll_s)

    def _plan(self, job: LedJob, members: Sequence[Seat], progress: _Progress) -> Plan:
        named = tuple(sorted(seat.peer_id for seat in members))
        if named != progress.named:
            progress.term, progress.named = job.next_term(), named
        step, settings = job.replica.step, self.settings
        limit_s = limit_round(
            progress.round_s[-5:], least_s=settings.least_round_s, first_s=settings.first_round_s
        )
        turn = Turn(step, progress.term, limit_s, step % settings.check_every == 0)
        barred = [seat.address for seat in self.admission.seats("member") if seat.peer_id in progress.barred]
        return plan_round(job.course, turn, [seat.address for seat in members], [self.me, *barred])

    async def _round(self, job: LedJob, members: Sequence[Seat], progress: _Progress) -> None:
        plan = self._plan(job, members, progress)
        ballot = Ballot(plan, self.me.peer_id, self.clock.monotonic())
        seats = {seat.peer_id: seat for seat in self.admission.seats("member")}
        result = self.mesh.begin(plan).result
        watching = asyncio.create_task(self._watch(plan))
        try:
            await self.roster.tell(seats.values(), plan)
            decision = await self._vote(job, ballot, seats)
        finally:
            watching.cancel()
        if isinstance(decision, Aborted):
            await self._abort(plan, seats, decision, progress)
        elif not np.isfinite(result).all():
            raise NotFinite(plan.step, "the mean gradient")
        else:
            await self._commit(job, ballot, seats, result)
            progress.round_s.append(self.clock.monotonic() - ballot.started)
            progress.barred = set()

    async def _watch(self, plan: Plan) -> None:
        """The backbone's own part in a round: it receives the result."""
        exchange = self.mesh.exchange
        if exchange is not None:
            self.roster.report((plan.key, await collect(self.mesh, exchange)))

    async def _vote(self, job: LedJob, ballot: Ballot, seats: dict[str, Seat]) -> Committed | Aborted:
        while isinstance(decision := decide(ballot, self.clock.monotonic()), Waiting):
            heard = await self.roster.next(decision.until)
            ballot.missing_owners = self.mesh.exchange.missing_owners() if self.mesh.exchange else ()
            if heard is None:
                continue
            if heard.seat is None:
                key, digest = heard.note
                ballot.own_digest = digest if key == ballot.plan.key else ballot.own_digest
            elif seats.get(heard.seat.peer_id) is heard.seat:
                self._count(ballot, heard.seat, heard.message)
            await self.admission.hear(job, heard)
        return decision

    def _count(self, ballot: Ballot, seat: Seat, message: Message | None) -> None:
        """Enters into the ballot what a seat of this round says about it."""
        plan, peer = ballot.plan, seat.peer_id
        if message is None:
            ballot.gone.add(peer)
            return
        if not isinstance(message, Done | Accuse | Unfit):
            return
        if (message.job, message.term, message.step) != (plan.job, *plan.key):
            return
        if isinstance(message, Accuse):
            ballot.accused[peer] = message
            ballot.first_accused = ballot.first_accused or self.clock.monotonic()
        elif isinstance(message, Unfit):
            ballot.unfit[peer] = message
        elif is_attested(plan, peer, seat.public_key, message):
            ballot.done[peer] = message
            seat.measure(message.samples, message.compute_s)
        else:
            log.warning("peer %s: its signature under step %d is wrong", seat.name, plan.step)
            ballot.gone.add(peer)

    async def _commit(self, job: LedJob, ballot: Ballot, seats: dict[str, Seat], mean: np.ndarray) -> None:
        plan, digest = ballot.plan, ballot.own_digest or ""
        in_thread, replica = self.admission.in_thread, job.replica
        own_state = await in_thread(replica.state_digest) if plan.check_state else None
        commit = Commit(job=plan.job, step=plan.step, term=plan.term, digest=digest)
        await self.roster.tell([seat for peer, seat in seats.items() if peer not in ballot.gone], commit)
        await in_thread(lambda: replica.apply(mean))
        self.mesh.end(clean=True)
        record = make_record(plan, ballot.done, digest, iso(self.clock.wall()))
        log.info(
            "job %s step %d term %d: committed, %d peers, %d samples, loss %.4f",
            plan.job[:8], plan.step, plan.term, len(plan.members), record.samples, record.loss,
        )  # fmt: skip
        for peer, done in ballot.done.items():
            if plan.check_state and done.state_digest != own_state:
                log.warning(
                    "peer %s: its state differs from the network's, it fetches it again", seats[peer].name
                )
                seats[peer].state = "prepared"
        await job.committed(record)

    async def _abort(self, plan: Plan, seats: dict[str, Seat], why: Aborted, progress: _Progress) -> None:
        self.mesh.end(clean=False)
        names = ", ".join(seats[peer].name for peer in sorted(why.failed) if peer in seats)
        log.warning(
            "job %s step %d term %d: aborted, %s (%s); planned anew with the others",
            plan.job[:8], plan.step, plan.term, why.reason, names or "nobody to blame",
        )  # fmt: skip
        progress.named = ()
        progress.barred |= why.diverged
        for peer in why.failed - why.diverged:
            if peer in seats:
                seats[peer].state = "unfit"
                self.roster.drop(seats[peer], f"it failed the round of step {plan.step}: {why.reason}")
        left = [seat for seat in self.admission.seats("member") if seats.get(seat.peer_id) is seat]
        abort = Abort(job=plan.job, step=plan.step, term=plan.term, reason=why.reason[:500])
        await self.roster.tell(left, abort)
