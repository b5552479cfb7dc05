"""Files come in pieces from whoever has them; what is wrong is not believed, what is there is not fetched again."""

import io

import pytest

from tests.trainer.running import run
from trainer.clock import ManualClock
from trainer.errors import PieceUnavailable
from trainer.identity import from_seed
from trainer.net.endpoint import Endpoint
from trainer.net.memory import Faults, MemoryNet
from trainer.net.pieces import PieceStore, fetch_file, serve_pieces
from trainer.wire.files import PieceFile
from trainer.wire.messages import Address

CONTENT = bytes(range(256)) * 100
FILE = PieceFile.of_stream("train.zip", io.BytesIO(CONTENT), 1024)


class Counting(PieceStore):
    """A holder that says how often it was asked, and may lie."""

    def __init__(self, lie=None):
        super().__init__()
        self.asked, self.lie = 0, lie

    def find(self, piece_sha256):
        self.asked += 1
        found = super().find(piece_sha256)
        return self.lie(found) if self.lie and found else found


class Swarm:
    def __init__(self, faults=None):
        self.net, self.clock = MemoryNet(faults), ManualClock()

    async def holder(self, number, store):
        identity = from_seed(bytes([number + 1]) * 32)
        endpoint = Endpoint(self.net.transport(f"holder-{number}"), identity, self.clock)
        listener = await endpoint.listen("h", 0, lambda session: serve_pieces(session, store))
        return Address(peer_id=identity.peer_id, host="h", port=listener.port)

    async def connect(self, address):
        endpoint = Endpoint(self.net.transport("me"), from_seed(b"m" * 32), self.clock)
        return await endpoint.connect(address, "pieces")


def full(lie=None):
    store = Counting(lie)
    store.add(FILE, CONTENT)
    return store


def test_a_file_comes_from_several_holders_at_once(tmp_path):
    async def main():
        swarm, stores = Swarm(), [full(), full(), full()]
        holders = [await swarm.holder(number, store) for number, store in enumerate(stores)]
        path = await fetch_file(FILE, holders, swarm.connect, tmp_path)
        assert path.read_bytes() == CONTENT and path.name == "train.zip"
        assert sum(store.asked for store in stores) == len(FILE.pieces)
        assert all(store.asked for store in stores)

    run(main())


def test_what_is_there_is_not_fetched_again(tmp_path):
    async def main():
        swarm, store = Swarm(), full()
        holder = await swarm.holder(0, store)
        await fetch_file(FILE, [holder], swarm.connect, tmp_path)
        asked = store.asked
        await fetch_file(FILE, [holder], swarm.connect, tmp_path)
        assert store.asked == asked == len(FILE.pieces)

    run(main())


@pytest.mark.parametrize(
    "lie",
    [lambda data: data[::-1], lambda data: data[:-1], lambda data: None],
    ids=["reversed", "cut", "nothing"],
)
def test_a_holder_that_lies_is_left_and_the_others_give_the_rest(tmp_path, lie):
    async def main():
        swarm, liar, honest = Swarm(), full(lie), full()
        holders = [await swarm.holder(0, liar), await swarm.holder(1, honest)]
        path = await fetch_file(FILE, holders, swarm.connect, tmp_path)
        assert path.read_bytes() == CONTENT
        assert liar.asked == 1

    run(main())


def test_only_liars_give_nothing(tmp_path):
    async def main():
        swarm = Swarm()
        holders = [await swarm.holder(number, full(lambda data: b"no")) for number in range(2)]
        with pytest.raises(PieceUnavailable):
            await fetch_file(FILE, holders, swarm.connect, tmp_path)
        assert not (tmp_path / FILE.sha256 / FILE.name).exists()

    run(main())


def test_a_fetch_that_was_cut_goes_on_where_it_was(tmp_path):
    async def main():
        swarm = Swarm(Faults(kill_after={"holder-0": 11}))  # the handshake's one, then ten pieces
        dying, fresh = full(), full()
        first = await swarm.holder(0, dying)
        with pytest.raises(PieceUnavailable):
            await fetch_file(FILE, [first], swarm.connect, tmp_path)
        path = await fetch_file(FILE, [await swarm.holder(1, fresh)], swarm.connect, tmp_path)
        assert path.read_bytes() == CONTENT
        assert fresh.asked == len(FILE.pieces) - 10

    run(main())


def test_a_piece_damaged_on_disk_is_fetched_again(tmp_path):
    async def main():
        swarm, store = Swarm(), full()
        folder = tmp_path / FILE.sha256
        folder.mkdir()
        damaged = bytearray(CONTENT)
        damaged[5000] ^= 1
        (folder / "partial").write_bytes(damaged)
        await fetch_file(FILE, [await swarm.holder(0, store)], swarm.connect, tmp_path)
        assert store.asked == 1
        assert (folder / FILE.name).read_bytes() == CONTENT

    run(main())


def test_nobody_there_is_piece_unavailable(tmp_path):
    async def main():
        swarm = Swarm()
        gone = Address(peer_id=from_seed(b"g" * 32).peer_id, host="h", port=1)
        with pytest.raises(PieceUnavailable):
            await fetch_file(FILE, [gone], swarm.connect, tmp_path)

    run(main())


def test_a_store_serves_files_on_disk_until_they_are_removed(tmp_path):
    store = PieceStore()
    (tmp_path / "f").write_bytes(CONTENT)
    store.add(FILE, tmp_path / "f")
    assert store.find(FILE.pieces[3]) == CONTENT[3072:4096]
    store.remove(FILE.sha256)
    assert store.find(FILE.pieces[3]) is None and FILE.sha256 not in store
