"""Runs a set of processes: start in order, wait until each is ready, prefix their logs, start again what dies, stop in reverse.

Knows nothing of Hydra; config.stack says which processes there are.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

PR_SET_PDEATHSIG = 1
BACKOFF_S = (0.5, 1, 2, 4, 8)
STEADY_S = 30  # a process that lived this long starts its back-off anew
COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)


class StartError(RuntimeError):
    """A process did not become ready: the message names it and its log."""


@dataclass(frozen=True)
class Process:
    """One program of the stack. `is_ready` is asked until it holds, for at most `ready_s` seconds."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    is_ready: Callable[[], bool] = lambda: True
    ready_s: float = 60
    stop_s: float = 15
    prepare: Callable[[], None] | None = None


@dataclass
class Running:
    """A process that was started: its handle, and how often it had to be started again."""

    process: Process
    handle: subprocess.Popen
    started_at: float
    falls: int = 0
    restart_at: float | None = None


class Console:
    """Writes whole lines with the process's name before them, to the terminal and to log files."""

    def __init__(self, stream: TextIO, log_folder: Path) -> None:
        self.stream, self.log_folder = stream, log_folder
        self.lock = threading.Lock()
        self.colours: dict[str, int] = {}
        self.is_colourful = stream.isatty() and "NO_COLOR" not in os.environ
        log_folder.mkdir(parents=True, exist_ok=True)

    def say(self, name: str, text: str) -> None:
        clock = time.strftime("%H:%M:%S")
        with self.lock:
            label = f"{name:<11}"
            if self.is_colourful:
                colour = self.colours.setdefault(name, COLOURS[len(self.colours) % len(COLOURS)])
                label = f"\x1b[{colour}m{label}\x1b[0m"
            with contextlib.suppress(BrokenPipeError):
                print(f"{clock} {label}| {text}", file=self.stream, flush=True)

    def follow(self, name: str, source: TextIO) -> None:
        """Copies a process's output until it ends (runs in its own thread)."""
        with source, open(self.log_folder / f"{name}.log", "a", encoding="utf-8") as log:
            for line in source:
                log.write(line)
                log.flush()
                self.say(name, line.rstrip("\n"))


@dataclass
class Supervisor:
    """Keeps `processes` running until `stop()`; `pids_file` tells others (and tests) who is who."""

    console: Console
    pids_file: Path
    running: dict[str, Running] = field(default_factory=dict)
    is_stopping: bool = False
    changing: threading.Lock = field(default_factory=threading.Lock)  # `watch` runs in a thread of its own

    def start(self, process: Process) -> None:
        """Starts one process and waits until it is ready. Raises StartError."""
        if process.prepare:
            process.prepare()
        with self.changing:
            if self.is_stopping:
                raise StartError("stopped while starting")
            self.running[process.name] = Running(process, self.launch(process), time.monotonic())
            self.write_pids()
        self.wait_ready(process)

    def launch(self, process: Process) -> subprocess.Popen:
        process.folder.mkdir(parents=True, exist_ok=True)
        handle = subprocess.Popen(
            list(process.argv),
            cwd=process.folder,
            env=dict(process.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        threading.Thread(target=self.console.follow, args=(process.name, handle.stdout), daemon=True).start()
        return handle

    def wait_ready(self, process: Process) -> None:
        deadline = time.monotonic() + process.ready_s
        while not process.is_ready():
            if self.is_stopping:
                raise StartError("stopped while starting")
            code = self.running[process.name].handle.poll()
            if code is not None:
                raise StartError(
                    f"{process.name} ended at its start with code {code}; {self.log_of(process)}"
                )
            if time.monotonic() > deadline:
                raise StartError(
                    f"{process.name} was not ready within {process.ready_s:.0f} s; {self.log_of(process)}"
                )
            time.sleep(0.1)

    def log_of(self, process: Process) -> str:
        return f"its log is {self.console.log_folder / (process.name + '.log')}"

    def watch(self) -> None:
        """Starts again whatever dies, with a growing pause, until `is_stopping`."""
        while not self.is_stopping:
            for running in list(self.running.values()):
                with self.changing:
                    if not self.is_stopping:
                        self.tend(running, time.monotonic())
            time.sleep(0.2)

    def tend(self, running: Running, now: float) -> None:
        if running.restart_at is None:
            code = running.handle.poll()
            if code is None:
                return
            running.falls = 0 if now - running.started_at > STEADY_S else running.falls
            end_group(running.handle.pid)
            pause = BACKOFF_S[min(running.falls, len(BACKOFF_S) - 1)]
            running.falls += 1
            running.restart_at = now + pause
            self.console.say(
                "supervisor",
                f"{running.process.name} ended ({describe_exit(code)}); starting it again in {pause:g} s",
            )
        elif now >= running.restart_at:
            running.handle, running.started_at, running.restart_at = self.launch(running.process), now, None
            self.write_pids()

    def stop(self) -> None:
        """Stops everything in reverse order of the start; what does not listen in time is killed."""
        self.is_stopping = True
        with self.changing:  # whatever is being started again now is in the list
            ending = list(reversed(self.running.values()))
        for running in ending:
            self.end(running)
        with contextlib.suppress(FileNotFoundError):
            self.pids_file.unlink()

    def end(self, running: Running) -> None:
        handle = running.handle
        if handle.poll() is not None:
            return
        self.console.say("supervisor", f"stopping {running.process.name}")
        handle.send_signal(signal.SIGTERM)
        try:
            handle.wait(running.process.stop_s)
        except subprocess.TimeoutExpired:
            self.console.say(
                "supervisor",
                f"{running.process.name} did not stop in {running.process.stop_s:g} s; killing it",
            )
            end_group(handle.pid)
            handle.wait()

    def write_pids(self) -> None:
        pids = {name: running.handle.pid for name, running in self.running.items()}
        draft = self.pids_file.with_suffix(".new")
        draft.write_text(json.dumps(pids, indent=1))
        draft.replace(self.pids_file)


def end_group(leader: int) -> None:
    """Kills what a process started: workers whose leader was killed would keep its port and its work."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def is_alive(leader: int) -> bool:
    """Whether the process of this id runs and leads a session of its own, as everything that we start does."""
    try:
        stat = Path(f"/proc/{leader}/stat").read_text().rpartition(")")[2].split()
        return stat[0] != "Z" and os.getsid(leader) == leader
    except FileNotFoundError:
        return sys.platform != "linux" and _answers(leader)
    except (OSError, IndexError):
        return False


def _answers(leader: int) -> bool:
    try:
        os.kill(leader, 0)
    except OSError:
        return False
    return True


def end_with_parent() -> None:
    """In the child: ask the kernel for SIGTERM when the supervisor dies, so that a kill -9 leaves no orphans (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
