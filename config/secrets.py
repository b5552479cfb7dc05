"""Secrets of the embedded stack: made once, kept under var/keys with mode 0600."""

import os
import secrets
import tempfile
from pathlib import Path


def load_or_create(path: Path) -> str:
    """Returns the secret in `path`, making it first where it is missing.

    Written whole under another name and linked, so that two processes that start together agree on one.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mode 0600
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(draft)
    return path.read_text().strip()
