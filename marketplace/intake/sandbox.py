"""Decodes images in a separate, limited process that lives long and serves many batches over a pipe.

An item that crashes the process, or costs too much, costs only itself: the process is replaced and the rest of
the batch goes on. What the process does to itself is decode_worker.py's.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from marketplace.intake.entry import DECODE_LIMITS, DecodedImage, DecodeLimits, Refusal
from marketplace.intake.errors import SandboxUnavailable

LENGTH = struct.Struct("<I")
ROOT = Path(__file__).resolve().parents[2]
BATCH_BYTES = 16 * 1024 * 1024  # what one write hands over: the worker holds a batch in memory
# glibc would give zlib's 260 KB back to the system after every picture: a quarter of a small one's time.
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "4194304",
    "MALLOC_TRIM_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "4194304",
}
START_S = 60.0  # a loaded machine takes seconds to import Pillow
FRAME_LIMIT = 2**31


class _Fault(Exception):
    """The worker did not answer. `late`: it used too much time; otherwise it died (signal or exit code)."""

    def __init__(self, late: bool, status: int | None = None) -> None:
        super().__init__(f"late={late} status={status}")
        self.late = late
        self.status = status


class _Worker:
    """One process and its pipe. Not thread-safe: Sandbox serialises."""

    def __init__(self, limits: DecodeLimits) -> None:
        self._read = bytearray()  # what came beyond the frame that was asked for
        environment = {
            "PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", **KEEP_MEMORY,
        }  # fmt: skip
        command = [sys.executable, "-m", "marketplace.intake.decode_worker", json.dumps(asdict(limits))]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=environment, cwd=ROOT, close_fds=True,
            )  # fmt: skip
        except OSError as error:
            raise SandboxUnavailable(f"The decoding process cannot be started: {error}.") from error
        try:
            self._frame(time.monotonic() + START_S)
        except _Fault as fault:
            self.close()
            raise SandboxUnavailable(
                f"The decoding process did not start (exit status {fault.status})."
            ) from fault

    def send(self, items: Sequence[bytes]) -> None:
        assert self.process.stdin is not None  # noqa: S101
        message = b"".join(
            [LENGTH.pack(len(items)), *(part for item in items for part in (LENGTH.pack(len(item)), item))]
        )
        try:
            self.process.stdin.write(message)
            self.process.stdin.flush()
        except (BrokenPipeError, ConnectionResetError):
            raise self._dead() from None

    def receive(self, wall_s: float) -> DecodedImage | Refusal:
        deadline = time.monotonic() + wall_s
        head, png = json.loads(self._frame(deadline)), self._frame(deadline)
        return DecodedImage(png=png, **head) if png else Refusal(**head)

    def _frame(self, deadline: float) -> bytes:
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size, deadline))
        return self._exactly(length, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes:
        assert self.process.stdout is not None  # noqa: S101
        descriptor = self.process.stdout.fileno()
        while len(self._read) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise _Fault(late=True)
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise self._dead()
            self._read += chunk
        data = bytes(self._read[:count])
        del self._read[:count]
        return data

    def _dead(self) -> _Fault:
        status = self.process.wait(timeout=10)
        return _Fault(late=status == -signal.SIGXCPU, status=status)

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
        self.process.kill()
        self.process.wait()


class Sandbox:
    """A door for batches: `decode` may be called from several threads, one batch at a time is worked on."""

    def __init__(self, limits: DecodeLimits = DECODE_LIMITS) -> None:
        self.limits = limits
        self.started = 0  # processes so far: 1 plus the faults survived
        self._worker: _Worker | None = None
        self._lock = threading.Lock()

    def decode(self, batch: Sequence[bytes]) -> list[DecodedImage | Refusal]:
        """One answer per item, in order. Raises: SandboxUnavailable when no process can be started."""
        answers: list[DecodedImage | Refusal] = []
        with self._lock:
            while len(answers) < len(batch):
                self._round(_next_round(batch, len(answers), self.limits), answers)
        return answers

    def _round(self, items: Sequence[bytes], answers: list[DecodedImage | Refusal]) -> None:
        """Sends some items and appends their answers; after a fault the culprit is answered for and the round ends."""
        known = len(answers)
        try:
            worker = self._ready()
            worker.send(items)
            for _ in items:
                answers.append(worker.receive(self.limits.wall_s))
        except _Fault as fault:
            self._replace()
            culprit = items[len(answers) - known]
            answers.append(_too_long(self.limits) if fault.late else self._again(culprit))

    def _again(self, item: bytes) -> DecodedImage | Refusal:
        """A process can die for reasons that are not the item's (memory pressure): one more try, alone."""
        try:
            worker = self._ready()
            worker.send([item])
            return worker.receive(self.limits.wall_s)
        except _Fault as fault:
            self._replace()
            return _too_long(self.limits) if fault.late else _crashed()

    def _ready(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(self.limits)
            self.started += 1
        return self._worker

    def _replace(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def close(self) -> None:
        with self._lock:
            self._replace()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _next_round(batch: Sequence[bytes], start: int, limits: DecodeLimits) -> list[bytes]:
    """The next items, up to BATCH_BYTES but at least one; what is over the file limit travels cut, to be refused."""
    chosen: list[bytes] = []
    total = 0
    for item in batch[start:]:
        total += len(item)
        if chosen and total > BATCH_BYTES:
            break
        chosen.append(item[: limits.file_bytes + 1])
    return chosen


def _too_long(limits: DecodeLimits) -> Refusal:
    return Refusal("too_slow", f"The picture took longer to decode than a picture may ({limits.cpu_s} s).")


def _crashed() -> Refusal:
    return Refusal(
        "crashed", "The picture made the decoder crash, or needed more memory than a picture may use."
    )


_shared: dict[tuple[int, DecodeLimits], Sandbox] = {}
_shared_lock = threading.Lock()


def decode_images(
    batch: Sequence[bytes], limits: DecodeLimits = DECODE_LIMITS
) -> list[DecodedImage | Refusal]:
    """Decodes through this process's own long-lived worker, one per set of limits.

    Returns: one answer per item, in order. Raises: SandboxUnavailable (try again), never for an item.
    Cost: about that of decoding the files, plus some 0.3 s once for the worker's start.
    """
    with _shared_lock:
        sandbox = _shared.get((os.getpid(), limits))  # by process: a forked child must not share a pipe
        if sandbox is None:
            sandbox = _shared[os.getpid(), limits] = Sandbox(limits)
    return sandbox.decode(batch)


@atexit.register
def close_shared() -> None:
    """Ends the shared workers of this process; the next call starts a new one."""
    with _shared_lock:
        for key in [key for key in _shared if key[0] == os.getpid()]:
            _shared.pop(key).close()
