"""The supervisor's engine on real processes: readiness, restart after a kill, clean stop, prefixed logs."""

import io
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from config.processes import Console, Process, StartError, Supervisor, describe_exit
from config.supervisor import await_former

FOREVER = "import signal, sys, time; print('up', flush=True); signal.signal(15, lambda *_: sys.exit(0)); time.sleep(60)"


def open_supervisor(tmp_path):
    (tmp_path / "run").mkdir()
    return Supervisor(Console(io.StringIO(), tmp_path / "log"), tmp_path / "run" / "processes.json")


def python(tmp_path, code, **fields):
    return Process("sample", [sys.executable, "-c", code], dict(os.environ), tmp_path, **fields)


def wait_until(holds, limit_s=10.0):
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "did not happen in time"
        threading.Event().wait(0.01)


def test_output_is_prefixed_and_kept(tmp_path):
    supervisor = open_supervisor(tmp_path)
    supervisor.start(python(tmp_path, FOREVER))
    try:
        wait_until(lambda: "sample     | up" in supervisor.console.stream.getvalue())
        assert (tmp_path / "log" / "sample.log").read_text() == "up\n"
    finally:
        supervisor.stop()


def test_a_process_that_ends_at_its_start_is_told_with_its_log(tmp_path):
    supervisor = open_supervisor(tmp_path)
    with pytest.raises(StartError, match=r"sample ended at its start with code 3; its log is .*sample\.log"):
        supervisor.start(python(tmp_path, "raise SystemExit(3)", is_ready=lambda: False))


def test_a_process_that_never_gets_ready_is_told(tmp_path):
    supervisor = open_supervisor(tmp_path)
    try:
        with pytest.raises(StartError, match="not ready within 0 s"):
            supervisor.start(python(tmp_path, FOREVER, is_ready=lambda: False, ready_s=0.2))
    finally:
        supervisor.stop()


def test_a_killed_process_is_started_again_and_the_stop_is_clean(tmp_path):
    supervisor = open_supervisor(tmp_path)
    supervisor.start(python(tmp_path, FOREVER))
    first = supervisor.running["sample"].handle.pid
    wait_until(lambda: "| up" in supervisor.console.stream.getvalue())
    watcher = threading.Thread(target=supervisor.watch, daemon=True)
    watcher.start()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: supervisor.running["sample"].handle.pid != first)
    wait_until(lambda: json.loads(supervisor.pids_file.read_text())["sample"] != first)
    wait_until(lambda: supervisor.console.stream.getvalue().count("| up") == 2)
    assert (
        "sample ended (killed by SIGKILL); starting it again in 0.5 s" in supervisor.console.stream.getvalue()
    )
    supervisor.stop()
    watcher.join(5)
    assert supervisor.running["sample"].handle.returncode == 0
    assert not supervisor.pids_file.exists()


def test_a_deaf_process_is_killed(tmp_path):
    supervisor = open_supervisor(tmp_path)
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    supervisor.start(python(tmp_path, deaf, stop_s=0.2))
    wait_until(lambda: "| up" in supervisor.console.stream.getvalue())
    supervisor.stop()
    assert supervisor.running["sample"].handle.returncode == -signal.SIGKILL


def test_exits_in_words():
    assert describe_exit(2) == "exit code 2"
    assert describe_exit(-9) == "killed by SIGKILL"


def test_what_a_killed_leader_had_started_ends_before_it_is_started_again(tmp_path):
    """A worker left behind would hold its leader's port (gunicorn)."""
    supervisor = open_supervisor(tmp_path)
    leader = (
        "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('child', child.pid, flush=True); time.sleep(60)"
    )
    supervisor.start(python(tmp_path, leader))
    wait_until(lambda: "| child" in supervisor.console.stream.getvalue())
    child = int(supervisor.console.stream.getvalue().split("child ")[1].split()[0])
    running = supervisor.running["sample"]
    os.kill(running.handle.pid, signal.SIGKILL)
    running.handle.wait()
    supervisor.tend(running, time.monotonic())
    wait_until(lambda: not runs(child))
    supervisor.stop()


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_instance_whose_supervisor_was_killed_is_waited_for_and_then_killed(tmp_path):
    supervisor = open_supervisor(tmp_path)
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    supervisor.start(python(tmp_path, deaf))
    wait_until(lambda: "| up" in supervisor.console.stream.getvalue())
    left = supervisor.running.pop("sample").handle
    await_former(supervisor, limit_s=0.3)
    assert left.wait(5) == -signal.SIGKILL
    assert "killing sample of the former instance" in supervisor.console.stream.getvalue()


def test_no_former_instance_is_no_wait(tmp_path):
    supervisor = open_supervisor(tmp_path)
    await_former(supervisor)
    supervisor.pids_file.write_text(
        json.dumps({"web": os.getpid()})
    )  # lives, but leads no session: not one of ours
    await_former(supervisor)
    assert "former" not in supervisor.console.stream.getvalue()
