"""Settings that a server process would not understand are told in one line before anything is started."""

import os
import subprocess
import sys

import pytest


def ask(*arguments, **settings):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.local", **settings}
    return subprocess.run(
        [sys.executable, "-m", "config.preflight", *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_defaults_are_understood(tmp_path):
    answer = ask(HYDRA_VAR=str(tmp_path), DATABASE_URL="")
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "DATABASE_URL",
            "postgresql://u:secret@host:abc/x",
            "DATABASE_URL is 'postgresql://u:…@host:abc/x'; expected",
        ),
        ("DATABASE_URL", "postgresql://u@127.0.0.1:1/x", "The database (DATABASE_URL) cannot be reached"),
        ("LOG_LEVEL", "LOUD", "LOG_LEVEL is 'LOUD'; expected one of DEBUG"),
        ("DJANGO_SETTINGS_MODULE", "nope", "DJANGO_SETTINGS_MODULE is 'nope', which cannot be loaded"),
        ("BROKER_URL", "foo", "BROKER_URL is 'foo'; expected redis://"),
        ("BROKER_URL", "redis://127.0.0.1:1/0", "The broker (BROKER_URL) cannot be reached"),
    ],
)
def test_a_bad_setting_is_one_line(tmp_path, name, value, said):
    answer = ask("--broker", **{"HYDRA_VAR": str(tmp_path), name: value})
    assert answer.returncode == 1
    assert said in answer.stderr and len(answer.stderr.splitlines()) == 1
