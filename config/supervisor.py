"""`make run`: brings up the embedded stack, keeps it up, takes it down.

One instance per state folder: the lock is held by the kernel, so that a file left by a killed instance blocks nobody.
"""

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from config.env import SettingError
from config.processes import Console, StartError, Supervisor, end_group, is_alive
from config.stack import ROOT, Stack

MOST_VOLUNTEERS = 64
FORMER_S = 20  # longer than any part takes for a clean stop


class AlreadyRunning(RuntimeError):
    """Another instance holds this state folder."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.supervisor", description=__doc__)
    parser.add_argument(
        "--volunteers", type=count, default=2, metavar="N", help="local volunteers (default: 2)"
    )
    options = parser.parse_args(argv)
    try:
        stack = Stack.read(os.environ)
        return serve(stack, volunteers=options.volunteers)
    except (AlreadyRunning, OSError, StartError, SettingError, subprocess.CalledProcessError) as error:
        print(f"hydra: {error}", file=sys.stderr)
        return 1


def count(text: str) -> int:
    """Reads how many. Raises ArgumentTypeError."""
    if not text.isdigit() or int(text) > MOST_VOLUNTEERS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {MOST_VOLUNTEERS}, not {text!r}")
    return int(text)


def serve(stack: Stack, *, volunteers: int) -> int:
    """Runs until SIGINT or SIGTERM. Returns the exit code."""
    with hold(stack.var):
        supervisor = open_supervisor(stack, sys.stdout)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: setattr(supervisor, "is_stopping", True))
        try:
            bring_up(stack, supervisor)
            add_volunteers(stack, supervisor, volunteers)
            supervisor.console.say("supervisor", f"Hydra is at {stack.url} (stop: Ctrl-C)")
            supervisor.watch()
        except StartError:
            if not supervisor.is_stopping:
                raise
        finally:
            supervisor.stop()
    return 0


def open_supervisor(stack: Stack, stream: TextIO) -> Supervisor:
    (stack.var / "run").mkdir(parents=True, exist_ok=True)
    return Supervisor(Console(stream, stack.var / "log"), stack.var / "run" / "processes.json")


def hold(var: Path) -> TextIO:
    """Takes the state folder's lock for as long as the returned file is open. Raises AlreadyRunning."""
    try:
        (var / "run").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            "HYDRA_VAR", str(var), f"a folder that can be written to ({error.strerror})"
        ) from None
    lock = open(var / "run" / "supervisor.lock", "a+")  # noqa: SIM115 - the caller closes it
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise AlreadyRunning(
            f"another Hydra (process {holder}) uses {var}; stop it, or set HYDRA_VAR to another folder"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def bring_up(stack: Stack, supervisor: Supervisor) -> None:
    """Starts everything but the volunteers. Raises StartError; what had started is left for `stop`."""
    await_former(supervisor)
    if taken := stack.taken_ports():
        raise StartError("; ".join(taken))
    check_settings(stack)
    for process in stack.infrastructure():
        supervisor.console.say("supervisor", f"starting {process.name}")
        supervisor.start(process)
    for title, arguments in preparations(stack):
        supervisor.console.say("supervisor", title)
        manage(stack, supervisor, *arguments)
    for process in stack.services():
        supervisor.console.say("supervisor", f"starting {process.name}")
        supervisor.start(process)


def await_former(supervisor: Supervisor, *, limit_s: float = FORMER_S) -> None:
    """Waits until the processes of an instance whose supervisor was killed have ended; then kills what is left.

    They were told to stop when it died. Its lock is ours by now, so nobody else is starting them again.
    """
    try:
        former = json.loads(supervisor.pids_file.read_text())
    except (FileNotFoundError, ValueError):
        return
    deadline = time.monotonic() + limit_s
    if any(map(is_alive, former.values())):
        supervisor.console.say(
            "supervisor", "the former instance was killed; waiting until its processes have stopped"
        )
    while (
        left := {name: pid for name, pid in former.items() if is_alive(pid)}
    ) and time.monotonic() < deadline:
        time.sleep(0.2)
    for name, pid in left.items():
        supervisor.console.say("supervisor", f"killing {name} of the former instance")
        end_group(pid)


def check_settings(stack: Stack) -> None:
    """Asks a process like the ones to be started whether it understands its settings. Raises StartError."""
    command = [stack.python, "-m", "config.preflight", *(["--broker"] if "BROKER_URL" in stack.outer else [])]
    answer = subprocess.run(command, cwd=ROOT, env=stack.environment, capture_output=True, text=True)
    if answer.returncode:
        raise StartError(answer.stderr.strip())


def preparations(stack: Stack) -> list[tuple[str, tuple[str, ...]]]:
    token = str(stack.backbone_token)
    return [
        ("migrating the database", ("migrate", "--noinput", "-v", "0")),
        ("making the table of rate limits", ("createcachetable",)),
        ("collecting static files", ("collectstatic", "--noinput", "-v", "0")),
        ("deploying the ledger contract", ("deploy_ledger",)),
        ("issuing the backbone's token", ("make_service_token", "--scope", "backbone", "--file", token)),
    ]


def manage(stack: Stack, supervisor: Supervisor, *arguments: str) -> str:
    """Runs a management command to its end. Raises StartError with what it printed."""
    command = [stack.python, str(ROOT / "manage.py"), *arguments]
    answer = subprocess.run(command, cwd=ROOT, env=stack.environment, capture_output=True, text=True)
    if answer.returncode:
        raise StartError(
            f"`manage.py {' '.join(arguments)}` failed:\n{answer.stdout}{answer.stderr}".rstrip()
        )
    return answer.stdout


def add_volunteers(stack: Stack, supervisor: Supervisor, count: int) -> None:
    for number in range(1, count + 1):
        name = f"volunteer{number}"
        is_known = (stack.var / "volunteers" / name / "enrolment.json").exists()
        code = "" if is_known else manage(stack, supervisor, "make_enrolment_code", "--platform").strip()
        supervisor.start(stack.volunteer(name, code=code))


if __name__ == "__main__":
    raise SystemExit(main())
