"""Key files: made once, readable by their owner only, refused otherwise; and never quoted in an error."""

import stat
from pathlib import Path

import pytest

from ledger.chain.keys import KeyFiles, NoKeys, create_keys
from ledger.chain.port import ROLES
from ledger.errors import KeyMissing


def test_each_role_gets_a_private_key_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    made = create_keys(folder)
    assert [path.name for path in made] == ["admin.key", "recorder.key", "spender.key", "guardian.key"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len({KeyFiles(folder).address(role) for role in ROLES}) == len(ROLES)


def test_keys_are_never_made_twice(tmp_path: Path) -> None:
    create_keys(tmp_path)
    before = KeyFiles(tmp_path).address("admin")
    assert create_keys(tmp_path) == []
    assert KeyFiles(tmp_path).address("admin") == before


def test_a_known_key_has_its_known_address(tmp_path: Path) -> None:
    create_keys(tmp_path)
    (tmp_path / "admin.key").write_text(
        "0x" + "0" * 63 + "1\n"
    )  # the address of private key 1 is in every wallet's tests
    assert KeyFiles(tmp_path).address("admin") == "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    create_keys(tmp_path)
    (tmp_path / "admin.key").chmod(mode)
    with pytest.raises(KeyMissing, match=f"{mode:04o}"):
        KeyFiles(tmp_path).address("admin")


def test_a_missing_key_says_which_and_where(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing, match=r"recorder.*recorder\.key"):
        KeyFiles(tmp_path).address("recorder")


def test_a_damaged_key_is_refused_without_being_quoted(tmp_path: Path) -> None:
    create_keys(tmp_path)
    secret = "5ec4e7" * 10
    (tmp_path / "admin.key").write_text(secret)
    with pytest.raises(KeyMissing) as refusal:
        KeyFiles(tmp_path).address("admin")
    assert secret not in str(refusal.value)


def test_a_process_without_keys_signs_nothing() -> None:
    with pytest.raises(KeyMissing):
        NoKeys().sign("recorder", {})
    with pytest.raises(KeyMissing):
        NoKeys().address("recorder")
