"""A process's hold on its home folder: one process a home, since two with one key push each other off the network.

The kernel lets go of the lock when the process ends, however it ends; the file itself stays and means nothing.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.errors import HomeInUse, SettingInvalid

LOCK_FILE = "lock"


@contextmanager
def hold(home: Path) -> Iterator[None]:
    """Makes the folder where it is absent. Raises HomeInUse, SettingInvalid."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise SettingInvalid("--home", f"{home} cannot be written to: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise HomeInUse(str(home)) from error
    except OSError as error:
        os.close(descriptor)
        raise SettingInvalid("--home", f"{home} cannot be locked: {error.strerror}") from error
    try:
        yield
    finally:
        os.close(descriptor)
