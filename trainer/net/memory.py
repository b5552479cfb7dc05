"""Frames between coroutines of one process, with faults as data: whom to kill after how many frames, and delays.

Ships with the package: tests drive real rounds through it. What goes through is encoded and decoded as on a wire.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainer.errors import ChannelClosed, TrainerError, Unreachable
from trainer.net.channel import Channel, Frame, Limits, OnChannel, Payload, Placer, check_size, room_for
from trainer.wire.canonical import canonical_json, parse_json

QUEUE = 64


@dataclass
class Faults:
    """`kill_after`: endpoint → frames it sends before it dies. `mute_after`: the same, but it just falls silent.

    `delay_s`: the longest wait put before a frame, drawn from `seed`.
    """

    kill_after: dict[str, int] = field(default_factory=dict)
    mute_after: dict[str, int] = field(default_factory=dict)
    delay_s: float = 0.0
    seed: int = 0


class MemoryNet:
    """What the endpoints of one test share: the listeners, the open channels, the faults."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self.sent: dict[str, int] = {}
        self.dead: set[str] = set()
        self._random = random.Random(self.faults.seed)
        self._listeners: dict[int, tuple[str, OnChannel]] = {}
        self._channels: list[MemoryChannel] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_port = 20_001

    def transport(self, name: str) -> "MemoryTransport":
        return MemoryTransport(self, name)

    def kill(self, name: str) -> None:
        """As SIGKILL would: its listeners vanish, every channel that ends at it is cut."""
        self.dead.add(name)
        self._listeners = {port: entry for port, entry in self._listeners.items() if entry[0] != name}
        for channel in self._channels:
            if name in (channel.name, channel.other.name):
                channel.cut(ChannelClosed(channel.remote, "connection reset"))

    async def before_send(self, name: str) -> bool:
        """Counts the frame, applies the faults. False: the frame is lost without a word."""
        if self.faults.delay_s:
            await asyncio.sleep(self._random.random() * self.faults.delay_s)
        if self.sent.get(name, 0) >= self.faults.kill_after.get(name, 2**62):
            self.kill(name)
        self.sent[name] = self.sent.get(name, 0) + 1
        return self.sent[name] <= self.faults.mute_after.get(name, 2**62)

    def open(self, name: str, port: int) -> "MemoryChannel":
        entry = self._listeners.get(port)
        if entry is None or name in self.dead:
            raise Unreachable(f"memory:{port}", "connection refused")
        here, there = (
            MemoryChannel(self, name, f"memory:{port}"),
            MemoryChannel(self, entry[0], f"memory:{name}"),
        )
        here.other, there.other = there, here
        self._channels += [here, there]
        task = asyncio.ensure_future(entry[1](there))  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return here

    def add_listener(self, name: str, port: int, on_channel: OnChannel) -> int:
        if port == 0:
            port, self._next_port = self._next_port, self._next_port + 1
        if port in self._listeners:
            raise Unreachable(f"memory:{port}", "cannot listen here: in use")
        self._listeners[port] = (name, on_channel)
        return port

    def remove_listener(self, port: int) -> None:
        self._listeners.pop(port, None)


class MemoryChannel:
    """One end of a channel; implements Channel."""

    other: "MemoryChannel"

    def __init__(self, net: MemoryNet, name: str, remote: str) -> None:
        self.name, self.remote, self.limits, self.placer = name, remote, Limits(), _no_placer()
        self.bytes_in = self.bytes_out = 0
        self._net, self._error = net, _no_error()
        self._frames: asyncio.Queue[tuple[bytes, bytes] | None] = asyncio.Queue(QUEUE)
        self._order = asyncio.Lock()

    @property
    def closed(self) -> bool:
        return self._error is not None

    async def send(self, header: Mapping[str, Any], payload: Payload = b"") -> None:
        encoded, copied = canonical_json(header), bytes(payload)
        async with self._order:
            heard = await self._net.before_send(self.name)
            if self._error is not None:
                raise self._error
            self.bytes_out += len(encoded) + len(copied)
            if heard:
                await self.other._frames.put((encoded, copied))

    async def receive(self) -> Frame:
        if self._error is not None and self._frames.empty():
            raise self._error
        entry = await self._frames.get()
        if entry is None or self.name in self._net.dead:
            raise self._error or ChannelClosed(self.remote)
        try:
            return self._open(*entry)
        except TrainerError as error:
            self.cut(error)
            self.other.cut(ChannelClosed(self.other.remote))
            raise

    def close(self) -> None:
        self.cut(ChannelClosed(self.remote, "closed here"))
        self.other.cut(ChannelClosed(self.other.remote))

    def cut(self, error: TrainerError) -> None:
        if self._error is not None:
            return
        self._error = error
        if self._frames.full():
            self._frames.get_nowait()
        self._frames.put_nowait(None)

    def _open(self, encoded: bytes, payload: bytes) -> Frame:
        check_size("header", len(encoded), self.limits.header)
        check_size("payload", len(payload), self.limits.payload)
        header = parse_json(encoded, "header")
        target = room_for(self, header, len(payload))
        target[:] = payload
        self.bytes_in += len(encoded) + len(payload)
        return Frame(header, target)


def _no_placer() -> Placer | None:
    return None


def _no_error() -> TrainerError | None:
    return None


class MemoryListener:
    def __init__(self, net: MemoryNet, port: int) -> None:
        self._net, self.port = net, port

    def close(self) -> None:
        self._net.remove_listener(self.port)


class MemoryTransport:
    """One endpoint's view of the net; the host is ignored, the port names the listener."""

    def __init__(self, net: MemoryNet, name: str) -> None:
        self._net, self._name = net, name

    async def connect(self, host: str, port: int) -> Channel:
        return self._net.open(self._name, port)

    async def listen(self, host: str, port: int, on_channel: OnChannel) -> MemoryListener:
        return MemoryListener(self._net, self._net.add_listener(self._name, port, on_channel))
