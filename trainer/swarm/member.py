"""One member's side of the rounds: compute the share, reduce, report; apply only what the backbone commits."""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from trainer.errors import NetError, NotFinite, OutOfStep, RoundAborted, RoundStuck
from trainer.net.endpoint import Session
from trainer.swarm.attesting import attest, find_share
from trainer.swarm.exchange import Exchange
from trainer.swarm.joining import Joiner
from trainer.swarm.mesh import Mesh, collect, reduce, stuck_for_time
from trainer.swarm.replica import Computed, Replica
from trainer.wire.messages import Accuse, Commit, Done, Plan, Share, Unfit
from trainer.wire.sampling import share_indices

log = logging.getLogger("hydra.peer")


class Rounds:
    """`pause_s` draws a wait before each compute: a slow machine, made on purpose."""

    def __init__(self, mesh: Mesh, joiner: Joiner, pause_s: Callable[[], float]) -> None:
        self.mesh, self.joiner, self.committed = mesh, joiner, 0
        self._pause_s = pause_s
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._held: tuple[Plan, str] | None = None  # the round whose whole result is here

    async def begin(self, session: Session, plan: Plan) -> None:
        """Starts on the round; whatever round was running is given up. Raises OutOfStep."""
        await self.cancel()
        replica = self.joiner.replica(plan.job)
        if (replica.step, replica.size, replica.dtype) != (plan.step, plan.size, plan.dtype):
            raise OutOfStep(replica.step, plan.step)
        self._stop = threading.Event()
        exchange = self.mesh.begin(plan)
        self._task = asyncio.create_task(self._take_part(session, exchange, replica, self._stop))

    async def cancel(self) -> None:
        """Gives up the running round; its compute ends after the micro-batch that it is in."""
        self._held = None
        self._stop.set()
        if self._task is not None:
            await stop_task(self._task)
            self._task = None
        self.mesh.end(clean=False)

    async def commit(self, commit: Commit) -> None:
        """Applies the result. Raises OutOfStep when this peer does not hold what is committed."""
        plan, digest = self._held or (None, "")
        same = plan and (plan.job, plan.step, plan.term, digest) == (
            commit.job, commit.step, commit.term, commit.digest
        )  # fmt: skip
        exchange = self.mesh.exchange
        if plan is None or exchange is None or not same:
            raise OutOfStep(-1, commit.step)
        replica = self.joiner.replica(commit.job)
        await self.joiner.in_thread(lambda: replica.apply(exchange.result))
        self._held = None
        self.mesh.end(clean=True)
        self.committed += 1
        samples = sum(m.count for m in plan.members if m.peer_id == exchange.me)
        log.info(
            "job %s step %d term %d: committed with %d peers, %d samples here",
            plan.job[:8], plan.step, plan.term, len(plan.members), samples,
        )  # fmt: skip

    async def _take_part(
        self, session: Session, exchange: Exchange, replica: Replica, stop: threading.Event
    ) -> None:
        plan = exchange.plan
        try:
            done = await self._report(exchange, replica, stop)
            self._held = (plan, done.digest)
            await session.send(done)
        except RoundStuck as stuck:
            await _tell(session, _accusation(plan, stuck))
        except NotFinite as error:
            await _tell(session, _unfit(plan, "not-finite", str(error)))
        except (RoundAborted, NetError):
            pass  # the backbone knows, or the control channel says so itself
        except Exception as error:
            log.exception("job %s step %d: the compute failed", plan.job[:8], plan.step)
            await _tell(session, _unfit(plan, "compute", f"{type(error).__name__}: {error}"))

    async def _report(self, exchange: Exchange, replica: Replica, stop: threading.Event) -> Done:
        plan, clock = exchange.plan, self.mesh.endpoint.clock
        state_digest = await self.joiner.in_thread(replica.state_digest) if plan.check_state else None
        mine = find_share(plan, exchange.me)
        started = clock.monotonic()
        try:
            async with asyncio.timeout(plan.limit_s):
                computed = await self._compute(plan, mine, replica, stop) if mine else None
                compute_s = clock.monotonic() - started
                if computed is not None:
                    digest = await reduce(self.mesh, exchange, computed.vector)
                else:
                    digest = await collect(self.mesh, exchange)
        except TimeoutError as error:
            raise stuck_for_time(exchange) from error
        return Done(
            job=plan.job, step=plan.step, term=plan.term, digest=digest, state_digest=state_digest,
            samples=computed.samples if computed else 0, loss=computed.loss if computed else 0.0,
            compute_s=compute_s,
            signature=attest(plan, mine, digest).sign(self.mesh.endpoint.identity.key) if mine else None,
        )  # fmt: skip

    async def _compute(self, plan: Plan, mine: Share, replica: Replica, stop: threading.Event) -> Computed:
        await asyncio.sleep(self._pause_s())
        indices = share_indices(plan.seed, plan.n_items, plan.step, plan.batch, mine.first, mine.count)
        return await self.joiner.in_thread(lambda: replica.compute(indices, stop.is_set))


async def stop_task(task: asyncio.Task[None]) -> None:
    """Cancels a task and waits until it has ended; our own cancellation is not taken for its."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a task ended with %r", error)


def _accusation(plan: Plan, stuck: RoundStuck) -> Accuse:
    return Accuse(
        job=plan.job, step=plan.step, term=plan.term, suspects=stuck.suspects, evidence=stuck.evidence,
        reason=stuck.why[:500],
    )  # fmt: skip


def _unfit(plan: Plan, cause: str, reason: str) -> Unfit:
    return Unfit(job=plan.job, step=plan.step, term=plan.term, cause=cause, reason=reason[:500])


async def _tell(session: Session, message: Accuse | Unfit) -> None:
    with suppress(NetError):
        await session.send(message)
