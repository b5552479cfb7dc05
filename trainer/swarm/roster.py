"""The backbone's view of who is connected: a seat per peer, one queue for all that they say.

A peer that connects again replaces its old seat; what the old channel still says is not heard.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from trainer.errors import BadMessage, NetError, TrainerError, WireError
from trainer.net.endpoint import Endpoint, Session
from trainer.wire.fields import Message
from trainer.wire.hello import Pass
from trainer.wire.messages import Address, Beat, Here, Leave, Welcome

log = logging.getLogger("hydra.backbone")
SeatState = Literal["idle", "preparing", "prepared", "syncing", "member", "unfit"]
SPEED_EMA = 0.2
TELL_S = 5.0
REPLACED = "a newer connection of the same peer replaces this one; does another process use this peer's key?"


@dataclass(eq=False)
class Seat:
    """One connected peer. `speed`: samples a second, measured over its rounds; 0 while unknown."""

    address: Address
    name: str
    public_key: str
    session: Session
    heard: float
    state: SeatState = "idle"
    leaving: bool = False
    speed: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    holds: set[str] = field(default_factory=set)  # jobs whose train files it can serve

    @property
    def peer_id(self) -> str:
        return self.address.peer_id

    def measure(self, samples: int, seconds: float) -> None:
        if samples and seconds > 0:
            rate = samples / seconds
            self.speed = rate if not self.speed else (1 - SPEED_EMA) * self.speed + SPEED_EMA * rate


@dataclass(frozen=True)
class Heard:
    """`message` None: the peer is gone. `seat` None: something that the backbone's own task reports."""

    seat: Seat | None
    message: Message | None
    note: Any = None


@dataclass(frozen=True)
class RosterSettings:
    beat_s: float = 1.0
    silence_s: float = 10.0
    pass_s: float = 3600.0


class Roster:
    """`is_enrolled(peer_id)` asks the market's list, perhaps anew."""

    def __init__(
        self, endpoint: Endpoint, is_enrolled: Callable[[str], Awaitable[bool]], settings: RosterSettings
    ) -> None:
        self.endpoint, self.settings, self._is_enrolled = endpoint, settings, is_enrolled
        self.seats: dict[str, Seat] = {}
        self.heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._farewells: set[asyncio.Task[None]] = set()

    async def serve(self, session: Session) -> None:
        """Takes in one peer's control channel until it ends."""
        if not await self._is_enrolled(session.peer_id):
            await session.refuse("this peer is not enrolled: enrol it with a one-time code from the portal")
            return
        try:
            seat = await self._seat(session)
        except TrainerError:
            return
        with suppress(NetError, WireError):
            while True:
                message, _ = await session.receive()
                self._note(seat, message)
        await self._unseat(seat)

    async def next(self, until: float) -> Heard | None:
        """The next thing heard, or None once the monotonic time `until` has come."""
        try:
            async with asyncio.timeout(max(0.0, until - self.endpoint.clock.monotonic())):
                return await self.heard.get()
        except TimeoutError:
            return None

    def report(self, note: Any) -> None:
        """Puts a note of the backbone's own among what is heard."""
        self.heard.put_nowait(Heard(None, None, note))

    async def tell(self, seats: Iterable[Seat], message: Message, payload: bytes = b"") -> None:
        """To all at once; a seat that does not take it in time is closed."""
        await asyncio.gather(*(self._tell(seat, message, payload) for seat in seats))

    async def beat(self) -> None:
        """Runs for ever: beats to all, closes the silent, renews passes before they run out."""
        clock = self.endpoint.clock
        renew = clock.monotonic() + self.settings.pass_s / 2
        while True:
            await asyncio.sleep(self.settings.beat_s)
            for seat in [*self.seats.values()]:
                if clock.monotonic() - seat.heard > self.settings.silence_s:
                    log.warning("peer %s (%s): silent, dropped", seat.name, seat.peer_id[:12])
                    self.drop(seat, f"nothing was heard of this peer for {self.settings.silence_s:g} s")
            await self.tell([*self.seats.values()], Beat(bytes_in=0, bytes_out=0))
            if clock.monotonic() > renew:
                renew = clock.monotonic() + self.settings.pass_s / 2
                for seat in [*self.seats.values()]:
                    await self._tell(seat, self._welcome(seat.peer_id))

    def drop(self, seat: Seat, reason: str = "") -> None:
        """Ends a peer's session, telling it why beside everything else; it may come back as a joiner."""
        if not reason:
            seat.session.close()
            return
        farewell = asyncio.create_task(seat.session.refuse(reason))
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)

    async def _seat(self, session: Session) -> Seat:
        message, _ = await session.receive()
        if not isinstance(message, Here):
            raise BadMessage(message.KIND, "kind", "a peer says first where it listens")
        address = Address(peer_id=session.peer_id, host=message.host, port=message.port)
        now = self.endpoint.clock.monotonic()
        seat = Seat(address, message.name or session.peer_id[:8], session.public_key, session, now)
        await session.send(self._welcome(session.peer_id))
        older = self.seats.get(seat.peer_id)
        if older is not None:
            self.drop(older, REPLACED)
            self.heard.put_nowait(Heard(older, None))
        self.seats[seat.peer_id] = seat
        self.heard.put_nowait(Heard(seat, message))
        log.info("peer %s (%s) is here, %s:%d", seat.name, seat.peer_id[:12], message.host, message.port)
        return seat

    def _note(self, seat: Seat, message: Message) -> None:
        if self.seats.get(seat.peer_id) is not seat:
            return
        seat.heard = self.endpoint.clock.monotonic()
        if isinstance(message, Beat):
            seat.bytes_in, seat.bytes_out = message.bytes_in, message.bytes_out
            return
        if isinstance(message, Leave):
            seat.leaving = True
        self.heard.put_nowait(Heard(seat, message))

    async def _unseat(self, seat: Seat) -> None:
        seat.session.close()
        if self.seats.get(seat.peer_id) is seat:
            del self.seats[seat.peer_id]
            self.heard.put_nowait(Heard(seat, None))
            log.info("peer %s (%s) is gone", seat.name, seat.peer_id[:12])

    async def _tell(self, seat: Seat, message: Message, payload: bytes = b"") -> None:
        try:
            async with asyncio.timeout(TELL_S):
                await seat.session.send(message, payload)
        except (NetError, TimeoutError):
            seat.session.close()

    def _welcome(self, peer_id: str) -> Welcome:
        expires = self.endpoint.clock.wall() + self.settings.pass_s
        return Welcome(admission=Pass.issue(self.endpoint.identity.key, peer_id, expires))
