"""The data channels between the peers of a round: one each way, opened when first needed, kept while they last.

Parts of a round that has not begun here yet make their channel wait, which makes the sender wait; parts of an older
one are dropped. The job of deciding what a dead channel means is left to the round's deadline and the backbone.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from trainer.errors import BadMessage, NetError, RoundStuck, WireError
from trainer.net.endpoint import Endpoint, Session
from trainer.swarm.exchange import Exchange, Memory
from trainer.wire.hello import Pass
from trainer.wire.messages import Address, Part, Plan, Share

T = TypeVar("T")
EARLY_S = 20.0  # how long a part may wait for its round to begin here
BIG = 2**18  # elements from which a sum leaves the event loop's thread


class Mesh:
    """`admission` is shown to the peers that this one connects to."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.memory = endpoint, Memory()
        self.admission: Pass | None = None
        self.bytes_in = self.bytes_out = 0
        self.exchange: Exchange | None = None
        self._last: tuple[str, tuple[int, int]] | None = None
        self._over: set[str] = set()
        self._changed = asyncio.Event()  # a round began, or a part arrived: replaced each time it is set
        self._out: dict[tuple[str, str, int], Session] = {}
        self._in: dict[str, Session] = {}
        self._opening: dict[tuple[str, str, int], asyncio.Lock] = {}

    def begin(self, plan: Plan) -> Exchange:
        """Opens the round; parts that waited for it flow. An older round that was still open is given up."""
        self.end(clean=False)
        self._over.discard(plan.job)
        self.exchange = Exchange(plan, self.endpoint.identity.peer_id, self.memory)
        self._last = (plan.job, plan.key)
        self._notify()
        return self.exchange

    def end(self, *, clean: bool) -> None:
        """Closes the round. `clean`: committed; its arrays are kept for the next one."""
        if self.exchange is not None:
            self.exchange.close(clean=clean)
            self.exchange = None

    def end_job(self, job: str) -> None:
        """Parts of this job that still wait or arrive are dropped."""
        self.end(clean=False)
        self._over.add(job)
        self._notify()

    def close(self) -> None:
        self.end(clean=False)
        for session in [*self._out.values(), *self._in.values()]:
            session.close()
        self._out.clear()
        self._opening.clear()

    async def serve(self, session: Session) -> None:
        """Takes in one peer's parts until its channel ends. A new channel of a peer replaces its old one."""
        older = self._in.get(session.peer_id)
        if older is not None:
            older.close()
        self._in[session.peer_id] = session
        session.channel.placer = lambda header, size: self._place(session.peer_id, header, size)
        with suppress(NetError, WireError):
            while True:
                message, payload = await session.receive()
                self.bytes_in += len(payload)
                if not isinstance(message, Part):
                    raise BadMessage(message.KIND, "kind", "only parts belong here")
                await self._take(session.peer_id, message, payload)
        if self._in.get(session.peer_id) is session:
            del self._in[session.peer_id]

    async def send(self, to: Address | Share, parts: Iterable[tuple[Part, memoryview]]) -> None:
        """Sends parts in order. Raises NetError; the channel is then forgotten."""
        try:
            session = await self._session_to(to)
            for part, payload in parts:
                await session.send(part, payload)
                self.bytes_out += len(payload)
        except (NetError, WireError) as error:
            self._forget(to)
            raise error if isinstance(error, NetError) else NetError(str(error)) from error

    async def wait_for_change(self) -> None:
        await self._changed.wait()

    async def _session_to(self, to: Address | Share) -> Session:
        """The one channel to this peer: a second one would close the first at the other end."""
        where = (to.peer_id, to.host, to.port)
        async with self._opening.setdefault(where, asyncio.Lock()):
            session = self._out.get(where)
            if session is None or session.channel.closed:
                address = Address(peer_id=to.peer_id, host=to.host, port=to.port)
                session = await self.endpoint.connect(address, "parts", self.admission)
                self._out[where] = session
        return session

    def _forget(self, to: Address | Share) -> None:
        session = self._out.pop((to.peer_id, to.host, to.port), None)
        if session is not None:
            session.close()

    def _place(self, sender: str, header: dict[str, Any], size: int) -> memoryview | None:
        exchange = self.exchange
        if exchange is None or (header.get("job"), header.get("term"), header.get("step")) != (
            exchange.plan.job, exchange.plan.term, exchange.plan.step
        ):  # fmt: skip
            return None
        return exchange.place(sender, header, size)

    async def _take(self, sender: str, part: Part, payload: memoryview) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(EARLY_S):
                while self._is_early(part):
                    await self._changed.wait()
        plan = self.exchange.plan if self.exchange else None
        if plan is not None and (plan.job, plan.key) == (part.job, (part.term, part.step)):
            self.exchange.accept(sender, part, payload)  # type: ignore[union-attr]
            self._notify()

    def _is_early(self, part: Part) -> bool:
        if part.job in self._over:
            return False
        if self._last is None or self._last[0] != part.job:
            return True
        return (part.term, part.step) > self._last[1]

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def reduce(mesh: Mesh, exchange: Exchange, own: np.ndarray) -> str:
    """A member's part of the all-reduce: slices out, my spans summed, results out and in. Returns the digest.

    Raises: RoundStuck, naming the peers that could not be reached or whose values were not finite; the caller
    limits the time, and then asks `stuck_for_time` who is missing.
    """
    exchange.own = own
    plan = exchange.plan
    by_id = {member.peer_id: member for member in plan.members}
    try:
        async with asyncio.TaskGroup() as group:
            for index, span in enumerate(plan.spans):
                if span.owner != exchange.me:
                    group.create_task(_send(mesh, exchange, by_id[span.owner], exchange.slices_for(index)))
            while exchange.missing_senders():
                await mesh.wait_for_change()
            for index in exchange.my_spans:
                await _sum(exchange, index)
                everybody: tuple[Address | Share, ...] = (*plan.members, *plan.watchers)
                for peer in everybody:
                    if peer.peer_id != exchange.me:
                        group.create_task(_send(mesh, exchange, peer, exchange.means_of(index)))
    except BaseExceptionGroup as group_error:
        stuck = [error for error in group_error.exceptions if isinstance(error, RoundStuck)]
        if not stuck:
            raise
        suspects = {suspect for error in stuck for suspect in error.suspects}
        raise RoundStuck(
            plan.step, plan.term, tuple(sorted(suspects)), stuck[0].evidence, stuck[0].why
        ) from None
    return await collect(mesh, exchange)


async def collect(mesh: Mesh, exchange: Exchange) -> str:
    """Waits for every owner's result; all that a watcher does. Returns the digest."""
    while not exchange.is_complete:
        await mesh.wait_for_change()
    return await _off_loop(exchange.digest, exchange.plan.size)


def stuck_for_time(exchange: Exchange) -> RoundStuck:
    """Whom this peer's round waits for when its time is up, by the strongest evidence that there is.

    A missing slice is its sender's fault; so is a result that its receiver does not take. A missing result need not
    be its owner's: the owner may wait for somebody's slice.
    """
    candidates = {
        "slices": exchange.missing_senders(),
        "channel": tuple(sorted({*exchange.sending})),
        "results": exchange.missing_owners(),
    }
    evidence = next((name for name, peers in candidates.items() if set(peers) - {exchange.me}), "slices")
    suspects = tuple(peer for peer in candidates[evidence] if peer != exchange.me) or (exchange.me,)
    plan = exchange.plan
    return RoundStuck(plan.step, plan.term, suspects, evidence, "no answer in the time allowed")


async def _send(mesh: Mesh, exchange: Exchange, to: Address | Share, parts: Any) -> None:
    exchange.sending.append(to.peer_id)
    try:
        await mesh.send(to, parts)
    except NetError as error:
        plan = exchange.plan
        raise RoundStuck(plan.step, plan.term, (to.peer_id,), "channel", str(error)) from error
    exchange.sending.remove(to.peer_id)


async def _sum(exchange: Exchange, index: int) -> None:
    bad = await _off_loop(lambda: exchange.sum_span(index), exchange.plan.spans[index].count)
    if bad:
        plan = exchange.plan
        raise RoundStuck(plan.step, plan.term, bad, "values", "values that are not finite")


async def _off_loop(work: Callable[[], T], size: int) -> T:
    return await asyncio.to_thread(work) if size > BIG else work()
