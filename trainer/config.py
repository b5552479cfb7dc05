"""The settings of a volunteer and of a backbone, as the command line gives them; wrong ones stop the start."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from trainer.errors import SettingInvalid


@dataclass(frozen=True)
class JoinSettings:
    """`rounds_delay_ms`: the longest wait put before each round's compute, to play a slow machine."""

    market: str
    home: Path
    code: str | None
    name: str
    host: str = "127.0.0.1"
    rounds_delay_ms: int = 0


@dataclass(frozen=True)
class BackboneSettings:
    """`host` and `port` are announced to volunteers. Steps between checkpoints; 0 evaluates twenty times a job."""

    market: str
    home: Path
    token: str
    host: str
    port: int
    checkpoint_every: int = 10
    evaluate_every: int = 0
    poll_s: float = 1.0


def check_market(url: str) -> str:
    """Raises SettingInvalid."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingInvalid("--market", f"{url!r} is not an address such as http://localhost:8000")
    return url.rstrip("/")


def read_token(path: Path) -> str:
    """The backbone's API token. Raises SettingInvalid."""
    try:
        token = path.read_text().strip()
    except OSError as error:
        raise SettingInvalid("--token-file", f"{path} cannot be read: {error.strerror}") from error
    if not token or len(token.split()) != 1:
        raise SettingInvalid("--token-file", f"{path} must hold one token and nothing else")
    return token


def write_private(path: Path, content: str) -> None:
    """Readable by its owner only, whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
