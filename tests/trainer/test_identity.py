"""A peer's key is made once, kept private, and names it."""

import hashlib

import pytest

from trainer.errors import SettingInvalid
from trainer.identity import KEY_FILE, from_seed, load_or_create


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path):
    made = load_or_create(tmp_path / "home")
    assert (tmp_path / "home" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert load_or_create(tmp_path / "home").peer_id == made.peer_id
    assert made.peer_id == hashlib.sha256(bytes.fromhex(made.public_key)).hexdigest()


def test_two_homes_are_two_peers(tmp_path):
    assert load_or_create(tmp_path / "a").peer_id != load_or_create(tmp_path / "b").peer_id


def test_a_key_that_others_can_read_is_refused(tmp_path):
    load_or_create(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(SettingInvalid, match="chmod 600"):
        load_or_create(tmp_path)


def test_a_damaged_key_is_refused(tmp_path):
    (tmp_path / KEY_FILE).touch(mode=0o600)
    with pytest.raises(SettingInvalid, match="not a key"):
        load_or_create(tmp_path)


def test_a_seed_gives_one_identity():
    assert from_seed(b"s" * 32).peer_id == from_seed(b"s" * 32).peer_id
