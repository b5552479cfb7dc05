"""Secrets of the embedded stack: made once, private, the same for all who start together."""

import stat
from concurrent.futures import ThreadPoolExecutor

from config.secrets import load_or_create


def test_is_made_once_and_private(tmp_path):
    path = tmp_path / "keys" / "secret"
    first = load_or_create(path)
    assert len(first) >= 48
    assert load_or_create(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_folders_have_two_secrets(tmp_path):
    assert load_or_create(tmp_path / "a") != load_or_create(tmp_path / "b")


def test_all_who_start_together_agree(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: load_or_create(tmp_path / "keys" / "secret"), range(8)))) == 1
