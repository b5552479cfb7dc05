"""Limits and crashes of the decoding process: the culprit is answered for, the batch goes on."""

import os
import signal
import subprocess
import sys

import pytest
from PIL import Image

from marketplace.intake import DecodedImage, DecodeLimits, Refusal, Sandbox, SandboxUnavailable
from marketplace.intake import sandbox as sandbox_module
from tests.marketplace.intake.pictures import encoded, png

LARGE = encoded(Image.new("RGB", (6_000, 6_000)))


def test_a_picture_over_the_memory_limit_costs_itself_only():
    limits = DecodeLimits(memory_bytes=200 * 2**20, pixels=10**9)
    with Sandbox(limits) as low:
        answers = low.decode([png(1), LARGE, png(2)])
    assert [type(a) for a in answers] == [DecodedImage, Refusal, DecodedImage]
    assert "memory" in answers[1].reason


def test_a_picture_over_the_time_limit_costs_itself_only():
    with Sandbox(DecodeLimits(wall_s=0.02, pixels=10**9)) as hasty:
        hasty.limits = DecodeLimits(wall_s=30, pixels=10**9)
        assert isinstance(hasty.decode([png(1)])[0], DecodedImage)
        hasty.limits = DecodeLimits(wall_s=0.02, pixels=10**9)
        (answer,) = hasty.decode([LARGE])
        hasty.limits = DecodeLimits(wall_s=30, pixels=10**9)
        (after,) = hasty.decode([png(2)])
    assert answer.code == "too_slow"
    assert isinstance(after, DecodedImage)
    assert hasty.started == 2


def test_a_killed_worker_is_replaced_and_no_item_is_lost():
    with Sandbox() as shared:
        shared.decode([png(1)])
        os.kill(shared._worker.process.pid, signal.SIGKILL)
        shared._worker.process.wait()
        answers = shared.decode([png(2), png(3)])
    assert all(isinstance(a, DecodedImage) for a in answers)
    assert shared.started == 2


def test_a_worker_that_cannot_start_blames_no_item(monkeypatch):
    monkeypatch.setattr(sandbox_module.sys, "executable", "/bin/false")
    with Sandbox() as broken, pytest.raises(SandboxUnavailable) as caught:
        broken.decode([png(1)])
    assert caught.value.retry


def test_the_worker_can_open_neither_files_nor_sockets():
    """The same confinement, with an attempt in place of a picture."""
    code = (
        "import socket; from marketplace.intake import decode_worker as w; "
        "from marketplace.intake.entry import DecodeLimits\n"
        "w._warm_up(DecodeLimits()); w._confine(DecodeLimits())\n"
        "for attempt in (lambda: open('/etc/passwd'), lambda: socket.socket()):\n"
        "    try: attempt()\n"
        "    except OSError as error: print(error.errno)\n"
        "    else: print('open')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, close_fds=True
    )
    assert done.stdout.split() == ["24", "24"]  # EMFILE


def test_intake_and_its_worker_load_without_django():
    code = "import sys, marketplace.intake, marketplace.intake.decode_worker; print('django' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
