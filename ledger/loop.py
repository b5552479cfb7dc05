"""Repeats a step until told to stop: at its pace while there is work, slower while the chain or the database is away."""

import logging
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import OperationalError, close_old_connections

from ledger.errors import ChainError, TxRejected

log = logging.getLogger(__name__)
BACKOFF_S = (0.5, 1.0, 2.0, 5.0)


@dataclass
class Stop:
    """Turns SIGTERM and SIGINT into a clean end after the present step. `wait` is the loop's sleep."""

    event: threading.Event = field(default_factory=threading.Event)

    def listen(self) -> "Stop":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.event.set())
        return self

    def is_set(self) -> bool:
        return self.event.is_set()

    def wait(self, seconds: float) -> None:
        self.event.wait(seconds)


def run(
    step: Callable[[datetime], int],
    *,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
    is_over: Callable[[], bool],
    idle_s: float = 0.25,
) -> None:
    """Runs `step(now)`; one that did something is followed by the next at once.

    A chain or database that is away, and bytes that the node refuses, slow the loop down but do not end it: what
    they need is time or an operator, and the step begins again from what is stored.
    """
    failures = 0
    while not is_over():
        try:
            close_old_connections()
            done, failures, pause = step(clock()), 0, idle_s
        except (ChainError, OperationalError) as error:
            pause = BACKOFF_S[min(failures, len(BACKOFF_S) - 1)]
            done, failures = 0, failures + 1
            report(error, failures)
        if not done and not is_over():
            sleep(pause)


def report(error: Exception, failures: int) -> None:
    """Says it at once and then ever less often: a node that is away for an hour fills no log."""
    level = logging.ERROR if isinstance(error, TxRejected) else logging.WARNING
    if failures & (failures - 1) == 0:
        log.log(level, "%s (in a row: %s)", error, failures)
