"""The transport seam: channels that carry frames, a JSON header with a binary payload behind it, both limited in size.

tcp.py and memory.py are its two implementations; tests/trainer/net/test_transports.py is what both must pass.
TLS is to be a third, behind the same seam.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from trainer.errors import TooLarge

Payload = bytes | bytearray | memoryview
Placer = Callable[[dict[str, Any], int], memoryview | None]


@dataclass(frozen=True)
class Limits:
    """Most bytes of one frame's header and payload. A stranger gets the smallest that a handshake needs."""

    header: int = 4096
    payload: int = 0


OPEN = Limits(header=2**20, payload=2**26)


@dataclass(frozen=True)
class Frame:
    header: dict[str, Any]
    payload: memoryview


class Channel(Protocol):
    """Both directions, in order, whole frames or none. Closing is noticed by both ends."""

    remote: str
    limits: Limits
    placer: Placer | None
    bytes_in: int
    bytes_out: int

    @property
    def closed(self) -> bool:
        """Known to be dead; False promises nothing."""

    async def send(self, header: Mapping[str, Any], payload: Payload = b"") -> None:
        """Returns when `payload` may be changed again. Raises ChannelClosed.

        Cancelling the wait does not take the frame back, and then the payload must stay as it is.
        """

    async def receive(self) -> Frame:
        """The next frame. Raises ChannelClosed, TooLarge or BadMessage; after any of them the channel is dead.

        `placer`, when set, may name the memory that a payload is received into; otherwise fresh memory is used.
        """

    def close(self) -> None: ...


OnChannel = Callable[[Channel], Awaitable[None]]


class Listener(Protocol):
    port: int

    def close(self) -> None: ...


class Transport(Protocol):
    async def connect(self, host: str, port: int) -> Channel:
        """Raises Unreachable."""

    async def listen(self, host: str, port: int, on_channel: OnChannel) -> Listener:
        """Calls `on_channel` in a task of its own for each channel; port 0 takes a free one."""


def check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(what, size, limit)


def room_for(channel: Channel, header: dict[str, Any], size: int) -> memoryview:
    """Where a payload of `size` bytes goes."""
    placed = channel.placer(header, size) if channel.placer else None
    return memoryview(bytearray(size)) if placed is None else placed.cast("B")
