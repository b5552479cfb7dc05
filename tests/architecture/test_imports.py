"""What may be loaded where: looked at in a fresh interpreter, because this one has everything loaded."""

import json
import subprocess
import sys

import pytest

PROBE = (
    "import sys, json, importlib; importlib.import_module({module!r}); print(json.dumps(sorted(sys.modules)))"
)


def loaded_by(module: str) -> set[str]:
    answer = subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module)], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(answer.stdout)}


@pytest.mark.parametrize("module", ["trainer.wire", "trainer.recipes"])
def test_the_servers_view_of_the_trainer_is_light(module):
    assert not loaded_by(module) & {"torch", "numpy", "uvloop", "httpx", "django"}


@pytest.mark.parametrize("module", ["ledger.chain", "marketplace.rules", "client"])
def test_a_stranger_can_load_it_without_django(module):
    assert "django" not in loaded_by(module)


def test_the_probe_sees_what_is_loaded():
    assert "django" in loaded_by("django.conf")
