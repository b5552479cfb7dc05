"""What every transport must do, on all of them: whole frames in order, limits, ends that are noticed."""

import asyncio

import pytest

from tests.trainer.running import run
from trainer.errors import BadMessage, ChannelClosed, TooLarge, Unreachable
from trainer.net.channel import OPEN, Limits
from trainer.net.memory import Faults, MemoryNet
from trainer.net.tcp import TcpTransport

TRANSPORTS = [lambda: MemoryNet().transport("one"), TcpTransport]


@pytest.fixture(params=TRANSPORTS, ids=["memory", "tcp"])
def transport(request):
    return request.param()


async def pair(transport, limits=OPEN):
    """Two ends of one channel, and the listener."""
    ends: asyncio.Queue = asyncio.Queue()
    closing = asyncio.Event()

    async def on_channel(channel):
        channel.limits = limits
        ends.put_nowait(channel)
        await closing.wait()

    listener = await transport.listen("127.0.0.1", 0, on_channel)
    caller = await transport.connect("127.0.0.1", listener.port)
    caller.limits = limits
    return caller, await ends.get(), listener


def talk(transport, work, limits=OPEN):
    async def main():
        caller, called, listener = await pair(transport, limits)
        try:
            return await work(caller, called)
        finally:
            listener.close()
            caller.close()
            called.close()
            await asyncio.sleep(0.01)

    return run(main())


def test_frames_arrive_whole_and_in_order_both_ways(transport):
    async def work(caller, called):
        for number in range(20):
            await caller.send({"n": number}, bytes([number]) * number)
            await called.send({"back": number})
        got = [await called.receive() for _ in range(20)]
        assert [(frame.header["n"], bytes(frame.payload)) for frame in got] == [
            (n, bytes([n]) * n) for n in range(20)
        ]
        assert [(await caller.receive()).header["back"] for _ in range(20)] == list(range(20))
        assert called.bytes_in > 190

    talk(transport, work)


def test_a_large_payload_goes_where_the_receiver_wants_it(transport):
    async def work(caller, called):
        place, sent = bytearray(3_000_000), bytes(range(256)) * 11_718
        called.placer = lambda header, size: memoryview(place)[:size]
        sending = asyncio.create_task(caller.send({"n": 1}, sent))
        frame = await called.receive()
        await sending
        assert bytes(place[: len(sent)]) == sent == bytes(frame.payload)

    talk(transport, work)


def test_a_buffer_may_be_changed_once_send_has_returned(transport):
    async def work(caller, called):
        buffer = bytearray(b"a" * 2_000_000)

        async def send_two():
            await caller.send({}, buffer)
            buffer[:] = b"b" * len(buffer)
            await caller.send({}, buffer)

        sending = asyncio.create_task(send_two())
        frames = [await called.receive(), await called.receive()]
        await sending
        assert [set(bytes(frame.payload)) for frame in frames] == [{97}, {98}]

    talk(transport, work)


def test_a_payload_over_the_limit_is_refused_before_it_is_read(transport):
    async def work(caller, called):
        await caller.send({}, b"x" * 10)
        await called.receive()
        await caller.send({}, b"x" * 11)
        with pytest.raises(TooLarge):
            await called.receive()

    talk(transport, work, Limits(header=100, payload=10))


def test_a_header_over_the_limit_is_refused(transport):
    async def work(caller, called):
        await caller.send({"long": "x" * 200})
        with pytest.raises(TooLarge):
            await called.receive()

    talk(transport, work, Limits(header=100, payload=10))


def test_a_header_that_is_no_json_cannot_be_sent(transport):
    async def work(caller, called):
        with pytest.raises(BadMessage):
            await caller.send({"x": float("nan")})

    talk(transport, work)


def test_closing_is_noticed_at_both_ends_after_what_was_sent(transport):
    async def work(caller, called):
        await caller.send({"last": 1})
        caller.close()
        assert (await called.receive()).header == {"last": 1}
        with pytest.raises(ChannelClosed):
            await called.receive()
        with pytest.raises(ChannelClosed):
            await caller.send({})
        assert caller.closed and called.closed

    talk(transport, work)


def test_nobody_listening_is_unreachable(transport):
    async def main():
        listener = await transport.listen("127.0.0.1", 0, lambda channel: asyncio.sleep(0))
        port = listener.port
        listener.close()
        await asyncio.sleep(0.01)
        with pytest.raises(Unreachable):
            await transport.connect("127.0.0.1", port)

    run(main())


def test_a_channel_only_sent_on_notices_its_end(transport):
    async def work(caller, called):
        await caller.send({"n": 1})
        called.close()
        while not caller.closed:
            await asyncio.sleep(0.001)

    talk(transport, work)


def test_memory_kills_after_the_named_number_of_frames():
    net = MemoryNet(Faults(kill_after={"one": 2}))

    async def work(caller, called):
        await caller.send({"n": 1})
        await called.send({"n": 2})
        with pytest.raises(ChannelClosed):
            await caller.send({"n": 3})
        assert net.dead == {"one"}

    talk(net.transport("one"), work)


def test_memory_mutes_after_the_named_number_of_frames():
    net = MemoryNet(Faults(mute_after={"one": 1}))

    async def work(caller, called):
        await caller.send({"n": 1})
        await caller.send({"n": 2})
        assert (await called.receive()).header == {"n": 1}
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await called.receive()

    talk(net.transport("one"), work)


def test_tcp_bytes_that_are_no_frame_close_the_channel():
    async def main():
        ends: asyncio.Queue = asyncio.Queue()

        async def on_channel(channel):
            try:
                await channel.receive()
            except (BadMessage, TooLarge) as error:
                ends.put_nowait(error)

        listener = await TcpTransport().listen("127.0.0.1", 0, on_channel)
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2" + b"\0" * 8 + b"x}", b"\0" * 12):
            _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(garbage)
            assert isinstance(await ends.get(), BadMessage | TooLarge)
            writer.close()
        listener.close()
        await asyncio.sleep(0.01)

    run(main())
