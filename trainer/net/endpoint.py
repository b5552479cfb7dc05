"""Authenticated channels: a transport plus the handshake, which proves to each end who holds the other.

Who may do what once proven is for the caller: the backbone asks the market's list, peers ask for the backbone's pass.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from trainer.clock import Clock
from trainer.errors import BadMessage, HandshakeRefused, NetError, TrainerError, Unreachable
from trainer.identity import Identity
from trainer.net.channel import OPEN, Channel, Listener, Transport
from trainer.wire.fields import Message
from trainer.wire.hello import PROTOCOL, Hello, HelloProof, HelloReply, Pass, Refused
from trainer.wire.messages import Address, parse_message
from trainer.wire.signing import peer_id_of, sign, verify

M = TypeVar("M", bound=Message)
CALLER, CALLED = "hydra-hello/caller", "hydra-hello/called"


@dataclass(frozen=True)
class Session:
    """An open channel to a peer whose key is proven. `admission`: the pass that a caller showed, not yet checked."""

    channel: Channel
    peer_id: str
    public_key: str
    purpose: str
    admission: Pass | None = None

    async def send(self, message: Message, payload: bytes | bytearray | memoryview = b"") -> None:
        await self.channel.send(message.to_header(), payload)

    async def receive(self) -> tuple[Message, memoryview]:
        frame = await self.channel.receive()
        return parse_message(frame.header), frame.payload

    async def refuse(self, reason: str) -> None:
        await _say_no(self.channel, reason)

    def close(self) -> None:
        self.channel.close()


OnSession = Callable[[Session], Awaitable[None]]


@dataclass(frozen=True)
class Endpoint:
    """What one process connects and listens with. `window_s`: how far clocks may differ in a handshake."""

    transport: Transport
    identity: Identity
    clock: Clock
    window_s: float = 60.0
    handshake_s: float = 5.0
    nonce: Callable[[], str] = field(default=lambda: secrets.token_hex(16))

    async def connect(self, address: Address, purpose: str, admission: Pass | None = None) -> Session:
        """Raises: Unreachable (try again), HandshakeRefused or BadSignature (not the peer we want)."""
        channel = await self.transport.connect(address.host, address.port)
        try:
            async with asyncio.timeout(self.handshake_s):
                return await self._greet(channel, address.peer_id, purpose, admission)
        except TimeoutError as error:
            channel.close()
            raise Unreachable(channel.remote, "no handshake in time") from error
        except (TrainerError, asyncio.CancelledError):
            channel.close()
            raise

    async def listen(self, host: str, port: int, on_session: OnSession) -> Listener:
        async def on_channel(channel: Channel) -> None:
            session = await self._try_answer(channel)
            if session is not None:
                try:
                    await on_session(session)
                finally:
                    session.close()

        return await self.transport.listen(host, port, on_channel)

    async def _greet(self, channel: Channel, expects: str, purpose: str, admission: Pass | None) -> Session:
        hello = Hello(
            protocol=PROTOCOL, public_key=self.identity.public_key, expects=expects, nonce=self.nonce(),
            at=self.clock.wall(), purpose=purpose,
        )  # fmt: skip
        await channel.send(hello.to_header())
        reply = await _expect(channel, HelloReply)
        said = _transcript(hello, reply)
        verify(reply.public_key, CALLED, said, reply.signature)
        if peer_id_of(reply.public_key) != expects:
            raise HandshakeRefused(channel.remote, "another peer answers at this address")
        self._check_time(channel, reply.at)
        proof = HelloProof(signature=sign(self.identity.key, CALLER, said), admission=admission)
        await channel.send(proof.to_header())
        channel.limits = OPEN
        return Session(channel, expects, reply.public_key, purpose)

    async def _try_answer(self, channel: Channel) -> Session | None:
        try:
            async with asyncio.timeout(self.handshake_s):
                return await self._answer(channel)
        except HandshakeRefused as error:
            await _say_no(channel, error.why)
        except (TrainerError, TimeoutError):
            channel.close()
        return None

    async def _answer(self, channel: Channel) -> Session:
        hello = await _expect(channel, Hello)
        if hello.protocol != PROTOCOL:
            raise HandshakeRefused(channel.remote, f"protocol {hello.protocol}; this peer speaks {PROTOCOL}")
        if hello.expects != self.identity.peer_id:
            raise HandshakeRefused(channel.remote, "the caller looks for another peer")
        self._check_time(channel, hello.at)
        draft = HelloReply(
            public_key=self.identity.public_key, nonce=self.nonce(), at=self.clock.wall(), signature="0" * 128
        )
        said = _transcript(hello, draft)
        reply = HelloReply(**{**draft.to_dict(), "signature": sign(self.identity.key, CALLED, said)})
        await channel.send(reply.to_header())
        proof = await _expect(channel, HelloProof)
        verify(hello.public_key, CALLER, said, proof.signature)
        channel.limits = OPEN
        peer_id = peer_id_of(hello.public_key)
        return Session(channel, peer_id, hello.public_key, hello.purpose, proof.admission)

    def _check_time(self, channel: Channel, at: float) -> None:
        off = at - self.clock.wall()
        if abs(off) > self.window_s:
            raise HandshakeRefused(
                channel.remote,
                f"clocks differ by {off:.0f} s; at most {self.window_s:.0f} s are allowed: set the clock",
            )


def _transcript(hello: Hello, reply: HelloReply) -> dict[str, object]:
    answered = {name: value for name, value in reply.to_dict().items() if name != "signature"}
    return {"hello": hello.to_dict(), "reply": answered}


async def _expect(channel: Channel, kind: type[M]) -> M:
    message = parse_message((await channel.receive()).header)
    if isinstance(message, Refused):
        raise HandshakeRefused(channel.remote, message.reason)
    if not isinstance(message, kind):
        raise BadMessage(message.KIND, "kind", f"expected {kind.KIND}")
    return message


async def _say_no(channel: Channel, reason: str) -> None:
    try:
        async with asyncio.timeout(1.0):
            await channel.send(Refused(reason=reason[:500]).to_header())
    except (NetError, TimeoutError):
        pass
    channel.close()
