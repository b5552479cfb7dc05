"""The handshake proves each end's key to the other: not to be replayed, re-dated, or answered by somebody else."""

import asyncio

import pytest

from tests.trainer.running import run
from trainer.clock import ManualClock
from trainer.errors import BadSignature, HandshakeRefused, NetError, TrainerError
from trainer.identity import from_seed
from trainer.net.endpoint import Endpoint
from trainer.net.memory import MemoryNet
from trainer.wire.hello import Hello, HelloProof, Pass
from trainer.wire.messages import Address, Beat

CALLER, CALLED, OTHER = (from_seed(letter * 32) for letter in (b"a", b"b", b"c"))


class Meeting:
    """A listener with one identity, and what has reached it."""

    def __init__(self, called=CALLED):
        self.net, self.clock, self.called = MemoryNet(), ManualClock(), called
        self.sessions: asyncio.Queue = asyncio.Queue()
        self.over = asyncio.Event()

    async def listen(self):
        async def on_session(session):
            self.sessions.put_nowait(session)
            await self.over.wait()

        endpoint = Endpoint(self.net.transport("called"), self.called, self.clock)
        listener = await endpoint.listen("h", 0, on_session)
        return Address(peer_id=CALLED.peer_id, host="h", port=listener.port)

    def endpoint(self, clock=None, identity=CALLER):
        return Endpoint(self.net.transport("caller"), identity, clock or self.clock)


def test_both_ends_learn_who_the_other_is():
    async def main():
        meeting = Meeting()
        address = await meeting.listen()
        admission = Pass.issue(OTHER.key, CALLER.peer_id, 1e10)
        session = await meeting.endpoint().connect(address, "parts", admission)
        met = await meeting.sessions.get()
        assert (session.peer_id, met.peer_id) == (CALLED.peer_id, CALLER.peer_id)
        assert (met.purpose, met.admission) == ("parts", admission)
        await session.send(Beat(bytes_in=1, bytes_out=2), b"xyz")
        message, payload = await met.receive()
        assert (message, bytes(payload)) == (Beat(bytes_in=1, bytes_out=2), b"xyz")
        meeting.over.set()

    run(main())


def test_another_peer_at_the_address_is_not_taken_for_the_one_expected():
    async def main():
        meeting = Meeting(called=OTHER)
        with pytest.raises(HandshakeRefused, match="another peer"):
            await meeting.endpoint().connect(await meeting.listen(), "control")

    run(main())


@pytest.mark.parametrize("off_s, taken", [(59, True), (-59, True), (61, False), (-61, False)])
def test_clocks_may_differ_by_a_minute(off_s, taken):
    async def main():
        meeting = Meeting()
        clock = ManualClock(meeting.clock.wall() + off_s)
        connecting = meeting.endpoint(clock).connect(await meeting.listen(), "control")
        if taken:
            await connecting
        else:
            with pytest.raises(HandshakeRefused, match="set the clock"):
                await connecting
        meeting.over.set()

    run(main())


async def record_handshake(meeting, address):
    """The caller's two messages of a handshake that worked."""
    channel = await meeting.net.transport("caller").connect("h", address.port)
    said, send = [], channel.send

    async def listen_in(header, payload=b""):
        said.append(dict(header))
        await send(header, payload)

    channel.send = listen_in
    await meeting.endpoint()._greet(channel, CALLED.peer_id, "control", None)
    await meeting.sessions.get()
    return said


def test_a_recorded_handshake_cannot_be_played_back():
    async def main():
        meeting = Meeting()
        address = await meeting.listen()
        hello, proof = await record_handshake(meeting, address)
        channel = await meeting.net.transport("thief").connect("h", address.port)
        await channel.send(hello)
        await channel.receive()  # the fresh nonce makes the old proof worthless
        await channel.send(proof)
        with pytest.raises(NetError):
            await channel.receive()
        assert meeting.sessions.empty()
        meeting.over.set()

    run(main())


def test_a_hello_in_another_peers_name_gets_no_session():
    async def main():
        meeting = Meeting()
        address = await meeting.listen()
        channel = await meeting.net.transport("thief").connect("h", address.port)
        hello = Hello(
            protocol=1, public_key=CALLER.public_key, expects=CALLED.peer_id, nonce="ab" * 16,
            at=meeting.clock.wall(), purpose="control",
        )  # fmt: skip
        await channel.send(hello.to_header())
        await channel.receive()
        await channel.send(HelloProof(signature="ab" * 64, admission=None).to_header())
        with pytest.raises(NetError):
            await channel.receive()
        assert meeting.sessions.empty()

    run(main())


def test_another_protocol_version_is_told_so():
    async def main():
        meeting = Meeting()
        address = await meeting.listen()
        channel = await meeting.net.transport("new").connect("h", address.port)
        hello = Hello(
            protocol=2, public_key=CALLER.public_key, expects=CALLED.peer_id, nonce="ab" * 16,
            at=meeting.clock.wall(), purpose="control",
        )  # fmt: skip
        await channel.send(hello.to_header())
        refused = (await channel.receive()).header
        assert refused["kind"] == "refused" and "speaks 1" in refused["reason"]

    run(main())


def test_an_answer_signed_by_another_key_is_refused():
    class Liar(Endpoint):
        async def _answer(self, channel):
            await channel.receive()
            reply = {
                "kind": "hello-reply", "public_key": CALLED.public_key, "nonce": "cd" * 16, "at": self.clock.wall(),
                "signature": "ab" * 64,
            }  # fmt: skip
            await channel.send(reply)

    async def main():
        meeting = Meeting()
        liar = Liar(meeting.net.transport("called"), OTHER, meeting.clock)
        listener = await liar.listen("h", 0, None)
        with pytest.raises(BadSignature):
            await meeting.endpoint().connect(
                Address(peer_id=CALLED.peer_id, host="h", port=listener.port), "control"
            )

    run(main())


def test_a_stranger_that_sends_rubbish_is_closed():
    async def main():
        meeting = Meeting()
        address = await meeting.listen()
        for header in ({"kind": "plan"}, {"no": "kind"}, {"kind": "hello", "padding": "x" * 5000}):
            channel = await meeting.net.transport("x").connect("h", address.port)
            await channel.send(header)
            with pytest.raises(TrainerError):
                await channel.receive()

    run(main())
