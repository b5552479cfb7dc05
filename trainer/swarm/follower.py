"""A member at work: obeys the backbone over one control channel, until it is lost or both have said goodbye.

The runner holds no judgement. Whatever does not fit (a plan for another step, a commit of something it does not hold)
ends the session: it comes back as a joiner and fetches the state.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import BadMessage, ChannelClosed, Dismissed, HandshakeRefused, NetError, TrainerError
from trainer.net.endpoint import Endpoint, Session
from trainer.net.pieces import PieceStore, serve_pieces
from trainer.swarm.joining import Joiner, Prepare
from trainer.swarm.member import Rounds, stop_task
from trainer.swarm.mesh import Mesh
from trainer.wire.fields import Message
from trainer.wire.hello import Refused
from trainer.wire.messages import (
    Abort,
    Address,
    Assign,
    Beat,
    Commit,
    Here,
    Leave,
    Plan,
    Release,
    State,
    Unfit,
    Welcome,
)  # fmt: skip

log = logging.getLogger("hydra.peer")


@dataclass(frozen=True)
class FollowerSettings:
    """`silence_s`: how long the backbone may say nothing, not even a beat, before it is taken for dead."""

    cache: Path
    beat_s: float = 1.0
    silence_s: float = 10.0
    pause_s: Callable[[], float] = lambda: 0.0


class Follower:
    """One per process; `serve` may be called again after a session has ended, and keeps what it had prepared."""

    def __init__(self, endpoint: Endpoint, prepare: Prepare, settings: FollowerSettings) -> None:
        self.endpoint, self.settings = endpoint, settings
        self.mesh, self.store = Mesh(endpoint), PieceStore()
        self._thread = ThreadPoolExecutor(1, "replica")
        self.joiner = Joiner(self.mesh, self.store, settings.cache, prepare, self._thread)
        self.rounds = Rounds(self.mesh, self.joiner, settings.pause_s)
        self.leaving = False
        self._backbone_key = ""
        self._session: Session | None = None
        self._joining: asyncio.Task[None] | None = None

    async def on_session(self, session: Session) -> None:
        """Another peer has connected: it needs the backbone's pass."""
        try:
            self._check_pass(session)
        except TrainerError as error:
            await session.refuse(str(error))
            return
        if session.purpose == "pieces":
            await serve_pieces(session, self.store)
        elif session.purpose == "parts":
            await self.mesh.serve(session)
        else:
            await session.refuse("only the backbone takes control channels")

    async def serve(self, backbone: Address, here: Here) -> None:
        """Works for this backbone until the channel ends. Raises TrainerError, unless this peer was leaving."""
        session = await self.endpoint.connect(backbone, "control")
        self._session, self._backbone_key = session, session.public_key
        beat = asyncio.create_task(self._beat(session))
        try:
            await session.send(here)
            while True:
                await self._act(session, *await self._next(session))
        except NetError:
            if not self.leaving:
                raise
        finally:
            beat.cancel()
            self._session = None
            await self._stop_joining()
            await self.rounds.cancel()
            self.mesh.close()
            session.close()

    async def leave(self) -> None:
        """Says goodbye; the backbone closes the channel when the running round is over."""
        self.leaving = True
        if self._session is not None:
            with suppress(NetError):
                await self._session.send(Leave())

    def close(self) -> None:
        self.mesh.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _check_pass(self, session: Session) -> None:
        admission = session.admission
        if admission is None or admission.peer_id != session.peer_id or not self._backbone_key:
            raise HandshakeRefused(session.channel.remote, "no pass of the backbone")
        admission.verify(self._backbone_key, self.endpoint.clock.wall())

    async def _next(self, session: Session) -> tuple[Message, memoryview]:
        try:
            async with asyncio.timeout(self.settings.silence_s):
                return await session.receive()
        except TimeoutError as error:
            raise ChannelClosed(session.channel.remote, "the backbone has fallen silent") from error

    async def _beat(self, session: Session) -> None:
        with suppress(NetError):
            while True:
                await asyncio.sleep(self.settings.beat_s)
                await session.send(Beat(bytes_in=self.mesh.bytes_in, bytes_out=self.mesh.bytes_out))

    async def _act(self, session: Session, message: Message, payload: memoryview) -> None:
        match message:
            case Beat():
                pass
            case Welcome():
                self.mesh.admission = message.admission
            case Refused():
                raise Dismissed(session.channel.remote, message.reason)
            case Assign():
                await self.rounds.cancel()
                await self._join(
                    session, message.job, "prepare", self.joiner.prepare(message, bytes(payload))
                )
            case State():
                await self._join(session, message.job, "state", self.joiner.sync(message))
            case Plan():
                await self.rounds.begin(session, message)
            case Abort():
                log.info(
                    "job %s step %d term %d: aborted, %s",
                    message.job[:8],
                    message.step,
                    message.term,
                    message.reason,
                )
                await self.rounds.cancel()
            case Commit():
                await self.rounds.commit(message)
            case Release():
                log.info("job %s: released, %s", message.job[:8], message.reason)
                await self._stop_joining()
                await self.rounds.cancel()
                self.mesh.end_job(message.job)
            case _:
                raise BadMessage(message.KIND, "kind", "not the backbone's to send")

    async def _join(self, session: Session, job: str, cause: str, work: Coroutine[Any, Any, Message]) -> None:
        """Prepares or syncs beside the message loop; the latest order replaces an unfinished one."""
        await self._stop_joining()

        async def run() -> None:
            with suppress(NetError):
                try:
                    answer = await work
                except TrainerError as error:
                    log.warning("job %s: %s", job[:8], error)
                    answer = Unfit(job=job, step=-1, term=-1, cause=cause, reason=str(error)[:500])
                await session.send(answer)

        self._joining = asyncio.create_task(run())

    async def _stop_joining(self) -> None:
        if self._joining is not None:
            await stop_task(self._joining)
            self._joining = None
