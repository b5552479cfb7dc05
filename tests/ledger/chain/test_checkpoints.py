"""Generations of the embedded chain's state: newest valid first, a torn one passed over, never an empty chain by accident."""

import gzip
import json
from pathlib import Path

import pytest

from ledger.chain.checkpoints import Checkpoint, Checkpoints
from ledger.errors import NodeFailed


def dump(block: int) -> bytes:
    return gzip.compress(json.dumps({"best_block_number": block}).encode())


def save(folder: Path, *blocks: int) -> Checkpoints:
    checkpoints = Checkpoints(folder)
    checkpoints.restore()
    for block in blocks:
        checkpoints.save(Checkpoint(block, f"0x{block}"), dump(block))
    return checkpoints


def restored_block(folder: Path) -> int:
    state = Checkpoints(folder).restore().state
    assert state is not None
    return json.loads(state.read_bytes())["best_block_number"]


def test_a_new_folder_is_a_new_chain(tmp_path: Path) -> None:
    found = Checkpoints(tmp_path).restore()
    assert (found.state, found.refused) == (None, ())


def test_the_newest_generation_comes_back(tmp_path: Path) -> None:
    save(tmp_path, 1, 2, 3)
    assert restored_block(tmp_path) == 3


def test_three_generations_are_kept(tmp_path: Path) -> None:
    save(tmp_path, 1, 2, 3, 4, 5)
    names = sorted(path.name for path in tmp_path.glob("state-*"))
    assert names == [f"state-000000000{n}.json.gz" for n in (3, 4, 5)]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "other"])
def test_a_damaged_generation_is_passed_over(tmp_path: Path, damage: str) -> None:
    save(tmp_path, 1, 2)
    newest = tmp_path / "state-0000000002.json.gz"
    whole = newest.read_bytes()
    flipped = whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:]
    newest.write_bytes(
        {"torn": whole[:-3], "empty": b"", "flipped": flipped, "other": gzip.compress(b"[]")}[damage]
    )
    found = Checkpoints(tmp_path).restore()
    assert found.refused == (newest.name,)
    assert found.state is not None
    assert json.loads(found.state.read_bytes()) == {"best_block_number": 1}


def test_when_all_are_damaged_it_stops_rather_than_start_empty(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    for path in tmp_path.glob("state-*"):
        path.write_bytes(b"torn")
    with pytest.raises(NodeFailed, match="readable"):
        Checkpoints(tmp_path).restore()


def test_the_note_names_the_newest_block_once_it_is_safe(tmp_path: Path) -> None:
    checkpoints = save(tmp_path, 1, 2)
    assert json.loads((tmp_path / "checkpoint.json").read_text()) == {"block": 2, "hash": "0x2"}
    assert checkpoints.newest == Checkpoint(2, "0x2")


def test_until_the_next_save_nothing_is_called_durable(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    Checkpoints(tmp_path).restore()
    assert not (tmp_path / "checkpoint.json").exists()


def test_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    save(tmp_path, 3)
    assert restored_block(tmp_path) == 3
    assert (tmp_path / "state-0000000003.json.gz").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    checkpoints = save(tmp_path, 1)
    (tmp_path / "checkpoint.json").unlink()
    (tmp_path / "checkpoint.json").mkdir()
    with pytest.raises(NodeFailed, match="could not be written"):
        checkpoints.save(Checkpoint(2, "0x2"), dump(2))
