"""Frames over TCP: a BufferedProtocol that receives straight into the memory where the bytes are wanted.

On the wire: header length (4 bytes), payload length (8 bytes), both big-endian, header, payload. Meant for uvloop,
whose `write` keeps a view of what it is given: `send` therefore returns only when the write buffer is empty.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from trainer.errors import ChannelClosed, TrainerError, Unreachable
from trainer.net.channel import Channel, Frame, Limits, OnChannel, Payload, Placer, check_size, room_for
from trainer.wire.canonical import canonical_json, parse_json

PREFIX = struct.Struct(">IQ")
HIGH_WATER = 8 * 2**20  # received and not yet taken: beyond it the sender is made to wait


class TcpChannel(asyncio.BufferedProtocol):
    """One connection; implements Channel."""

    def __init__(self, on_channel: OnChannel | None = None) -> None:
        self.remote, self.placer = "?", cast(Placer | None, None)
        self._limits = Limits()
        self.bytes_in = self.bytes_out = 0
        self._on_channel = on_channel
        self._frames: deque[Frame] = deque()
        self._waiting = 0  # bytes in _frames
        self._error: TrainerError | None = None
        self._arrived = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self._task: asyncio.Task[None] | None = None
        self._expect(memoryview(bytearray(PREFIX.size)), self._take_prefix)

    # what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)
        host, port = self._transport.get_extra_info("peername")[:2]
        self.remote = f"{host}:{port}"
        if self._on_channel:
            self._task = asyncio.ensure_future(self._on_channel(self))  # type: ignore[arg-type]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._target[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.bytes_in += nbytes
        self._filled += nbytes
        try:
            while self._filled == len(self._target) and self._error is None:
                self._taken(self._target)
        except TrainerError as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ChannelClosed(self.remote, str(exc) if exc else "closed by the other end"))

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    # what we call

    @property
    def closed(self) -> bool:
        return self._error is not None

    @property
    def limits(self) -> Limits:
        return self._limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        """Reads on: a channel that is only sent on would not notice its end otherwise."""
        self._limits = limits
        if not self._is_stranger:
            self._read_on()

    async def send(self, header: Mapping[str, Any], payload: Payload = b"") -> None:
        if self._error is not None:
            raise self._error
        view = memoryview(payload).cast("B")
        encoded = canonical_json(header)
        self._transport.write(PREFIX.pack(len(encoded), len(view)) + encoded)
        if len(view):
            self._transport.write(view)
        self.bytes_out += PREFIX.size + len(encoded) + len(view)
        await self._drained.wait()
        if self._error is not None:
            raise self._error

    async def receive(self) -> Frame:
        while not self._frames:
            if self._error is not None:
                raise self._error
            self._arrived.clear()
            self._read_on()
            await self._arrived.wait()
        frame = self._frames.popleft()
        self._waiting -= len(frame.payload)
        if self._waiting <= HIGH_WATER and not self._is_stranger:
            self._read_on()
        return frame

    def close(self) -> None:
        if self._error is None:
            self._error = ChannelClosed(self.remote, "closed here")
            self._transport.close()
            self._wake()

    # from bytes to frames

    def _expect(self, target: memoryview, taken: Any) -> None:
        self._target, self._filled, self._taken = target, 0, taken

    def _take_prefix(self, data: memoryview) -> None:
        header_bytes, self._payload_bytes = PREFIX.unpack(data)
        check_size("header", header_bytes, self._limits.header)
        check_size("payload", self._payload_bytes, self._limits.payload)
        check_size("empty header", int(header_bytes == 0), 0)
        self._expect(memoryview(bytearray(header_bytes)), self._take_header)

    def _take_header(self, data: memoryview) -> None:
        self._header = parse_json(data, "header")
        self._expect(room_for(cast(Channel, self), self._header, self._payload_bytes), self._take_payload)

    def _take_payload(self, data: memoryview) -> None:
        self._frames.append(Frame(self._header, data))
        self._waiting += len(data)
        if self._waiting > HIGH_WATER or self._is_stranger:
            self._transport.pause_reading()
        self._arrived.set()
        self._expect(memoryview(bytearray(PREFIX.size)), self._take_prefix)

    @property
    def _is_stranger(self) -> bool:
        """Before the handshake is over a frame is only read when asked for: the next may have other limits."""
        return self._limits.payload == 0

    def _read_on(self) -> None:
        if self._error is None:
            self._transport.resume_reading()

    def _fail(self, error: TrainerError) -> None:
        if self._error is None:
            self._error = error
            self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        self._drained.set()
        self._arrived.set()


class TcpListener:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]

    def close(self) -> None:
        self._server.close()


class TcpTransport:
    """Plain TCP. `connect_s`: how long a connection may take."""

    def __init__(self, connect_s: float = 3.0) -> None:
        self.connect_s = connect_s

    async def connect(self, host: str, port: int) -> Channel:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.connect_s):
                _, channel = await loop.create_connection(TcpChannel, host, port)
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"{host}:{port}", str(error) or "no answer in time") from error
        return cast(Channel, channel)

    async def listen(self, host: str, port: int, on_channel: OnChannel) -> TcpListener:
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(lambda: TcpChannel(on_channel), host, port)
        except OSError as error:
            raise Unreachable(f"{host}:{port}", f"cannot listen here: {error}") from error
        return TcpListener(server)
