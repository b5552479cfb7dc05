"""Where tokens are kept, who may read them, and to whom they are sent."""

import stat

import pytest

from client.credentials import Access, choose, default_path, forget, read, remember
from client.errors import ConfigurationError

HERE, THERE = Access("https://here.example", "hyd_here"), Access("https://there.example", "hyd_there")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config" / "hydra" / "credentials.json"


def test_only_the_owner_can_read_the_file(path):
    remember(path, HERE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["credentials.json"]


def test_the_portal_logged_in_to_last_is_the_current_one(path):
    remember(path, HERE)
    remember(path, THERE)
    assert choose(path, {}) == THERE
    assert choose(path, {}, "https://here.example/") == HERE


def test_a_token_is_not_sent_to_another_address(path):
    remember(path, HERE)
    assert choose(path, {}, "https://else.example") == Access("https://else.example", "")
    assert choose(path, {"HYDRA_URL": "https://else.example"}) == Access("https://else.example", "")


def test_the_environment_goes_before_the_file_and_a_flag_before_both(path):
    remember(path, HERE)
    environment = {"HYDRA_URL": "https://env.example", "HYDRA_TOKEN": "hyd_env"}
    assert choose(path, environment) == Access("https://env.example", "hyd_env")
    assert choose(path, environment, "https://flag.example").url == "https://flag.example"


def test_forgetting_one_keeps_the_other(path):
    remember(path, HERE)
    remember(path, THERE)
    forget(path, THERE.url)
    assert dict(read(path).tokens) == {HERE.url: HERE.token}


def test_without_a_file_nobody_is_logged_in(path):
    assert choose(path, {}) == Access("http://localhost:8000", "")


@pytest.mark.parametrize("content", ["", "[]", '{"tokens": 1}', "\xff"])
def test_a_damaged_file_is_said_to_be(path, content):
    path.parent.mkdir(parents=True)
    path.write_text(content, "latin-1")
    with pytest.raises(ConfigurationError, match="log in again"):
        choose(path, {})


def test_the_file_lies_where_configuration_belongs():
    assert str(default_path({"HOME": "/home/ben"})) == "/home/ben/.config/hydra/credentials.json"
    assert str(default_path({"XDG_CONFIG_HOME": "/x"})) == "/x/hydra/credentials.json"
