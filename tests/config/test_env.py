"""Typed settings: what is understood, and that what is not stops with the name, the value and what was expected."""

import pytest

from config import env


def test_booleans_in_the_usual_words():
    assert env.read_bool("X", False, env={"X": "Yes"}) is True
    assert env.read_bool("X", True, env={"X": "0"}) is False
    assert env.read_bool("X", True, env={}) is True


def test_an_odd_boolean_stops_the_start():
    with pytest.raises(env.SettingError, match=r"X is 'maybe'; expected one of"):
        env.read_bool("X", False, env={"X": "maybe"})


@pytest.mark.parametrize("value", ["0", "65536", "8000.5", "eight"])
def test_a_number_outside_its_range_names_the_range(value):
    with pytest.raises(env.SettingError, match=r"from 1 to 65535"):
        env.read_int("PORT", 8000, low=1, high=65535, env={"PORT": value})


def test_a_number_within_its_range():
    assert env.read_int("PORT", 8000, low=1, high=65535, env={"PORT": "65535"}) == 65535


def test_a_required_text_that_is_missing():
    with pytest.raises(env.SettingError, match="SECRET_KEY is not set"):
        env.read_text("SECRET_KEY", env={})


def test_lists_drop_blanks():
    assert env.read_list("HOSTS", env={"HOSTS": "a, ,b,"}) == ["a", "b"]


def test_postgres_url_is_taken_apart(tmp_path):
    got = env.read_database("DB", tmp_path / "x", env={"DB": "postgresql://ann:p%40ss@db.example:5433/hydra"})
    assert (got["USER"], got["PASSWORD"], got["HOST"], got["PORT"], got["NAME"]) == (
        "ann", "p@ss", "db.example", "5433", "hydra"
    )  # fmt: skip


def test_sqlite_is_the_default_and_writes_immediately(tmp_path):
    got = env.read_database("DB", tmp_path / "x.sqlite3", env={})
    assert got["NAME"] == str(tmp_path / "x.sqlite3")
    assert got["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://x/y", "expected postgresql://"),
        ("postgresql://host", "expected the database's name after the host"),
    ],
)
def test_another_database_is_refused(tmp_path, url, said):
    with pytest.raises(env.SettingError, match=said):
        env.read_database("DB", tmp_path / "x", env={"DB": url})


def test_a_password_is_not_printed(tmp_path):
    with pytest.raises(env.SettingError, match="postgresql://u:…@h:abc/x") as refusal:
        env.read_database("DB", tmp_path / "x", env={"DB": "postgresql://u:secret@h:abc/x"})
    assert "secret" not in str(refusal.value)
