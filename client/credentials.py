"""Where the command keeps tokens: one file, readable by its owner alone, one token per portal.

A token is only ever sent to the address it was issued by; HYDRA_URL and HYDRA_TOKEN go before what is stored.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from client.errors import ConfigurationError
from client.transport import checked_url

DEFAULT_URL = "http://localhost:8000"


@dataclass(frozen=True)
class Access:
    """`token` is "" where nobody has logged in there; what is public can still be read."""

    url: str
    token: str


@dataclass(frozen=True)
class Stored:
    """The file's content. `current` is the portal used where none is named."""

    current: str = ""
    tokens: Mapping[str, str] = field(default_factory=dict)


def default_path(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home()) / ".config"
    return Path(home) / "hydra" / "credentials.json"


def choose(path: Path, environment: Mapping[str, str], url: str = "") -> Access:
    """Which portal and token to use. Raises: ConfigurationError, where the file or the address is damaged."""
    stored = read(path)
    chosen = checked_url(url or environment.get("HYDRA_URL", "") or stored.current or DEFAULT_URL)
    return Access(chosen, environment.get("HYDRA_TOKEN", "") or stored.tokens.get(chosen, ""))


def read(path: Path) -> Stored:
    try:
        content = json.loads(path.read_bytes())
        tokens = {str(url): str(token) for url, token in content["tokens"].items()}
        return Stored(str(content.get("current", "")), tokens)
    except FileNotFoundError:
        return Stored()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ConfigurationError(f"{path} cannot be read ({exc}). Remove it and log in again.") from exc


def remember(path: Path, access: Access) -> None:
    """Stores the token and makes its portal the current one."""
    _write(path, Stored(access.url, {**read(path).tokens, access.url: access.token}))


def forget(path: Path, url: str) -> None:
    stored = read(path)
    _write(
        path, Stored(stored.current, {known: token for known, token in stored.tokens.items() if known != url})
    )


def _write(path: Path, stored: Stored) -> None:
    """Whole or not at all, and 0600 from the first byte on (mkstemp's own mode)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".credentials.")
        with os.fdopen(descriptor, "w") as stream:
            json.dump({"current": stored.current, "tokens": dict(stored.tokens)}, stream, indent=2)
        Path(beside).replace(path)
    except OSError as exc:
        raise ConfigurationError(f"{path} cannot be written ({exc.strerror}).") from exc
