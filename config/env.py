"""Typed readers of environment variables.

A setting that cannot be understood stops the start with its name, its value and what was expected;
a process that guesses at a setting fails later and further away.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

BROKERS = {"redis", "rediss", "amqp", "amqps"}


class SettingError(ValueError):
    """A setting is missing or cannot be understood: stop and correct the environment."""

    def __init__(self, name: str, value: str | None, expected: str) -> None:
        self.name, self.value, self.expected = name, value, expected
        got = "is not set" if value is None else f"is {value!r}"
        super().__init__(f"{name} {got}; expected {expected}.")


def read_text(name: str, default: str | None = None, *, env: Mapping[str, str] = os.environ) -> str:
    value = env.get(name, default)
    if value is None:
        raise SettingError(name, None, "a value")
    return value


def read_bool(name: str, default: bool, *, env: Mapping[str, str] = os.environ) -> bool:
    value = env.get(name, "").strip().lower()
    if not value:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise SettingError(name, value, "one of 1, 0, true, false, yes, no, on, off")


def read_int(name: str, default: int, *, low: int, high: int, env: Mapping[str, str] = os.environ) -> int:
    value = env.get(name, "").strip()
    if not value:
        return default
    expected = f"a whole number from {low} to {high}"
    try:
        number = int(value)
    except ValueError:
        raise SettingError(name, value, expected) from None
    if not low <= number <= high:
        raise SettingError(name, value, expected)
    return number


def read_list(name: str, default: str = "", *, env: Mapping[str, str] = os.environ) -> list[str]:
    return [part.strip() for part in env.get(name, default).split(",") if part.strip()]


def read_path(name: str, default: Path, *, env: Mapping[str, str] = os.environ) -> Path:
    value = env.get(name, "")
    return Path(value).expanduser().resolve() if value else default


def read_database(name: str, default_sqlite: Path, *, env: Mapping[str, str] = os.environ) -> dict:
    """Returns Django's DATABASES["default"] for a URL, or for SQLite where the variable is unset.

    SQLite runs in WAL with immediate transactions, so that a writer waits instead of failing when a reader
    becomes a writer.
    """
    url = env.get(name, "")
    if not url or url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:").lstrip("/") if url else ""
        return sqlite_database(Path("/" + path) if path else default_sqlite)
    parts = read_url(
        name, url, {"postgres", "postgresql"}, "postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH"
    )
    if not parts.path.strip("/"):
        raise SettingError(
            name, without_password(url), "the database's name after the host, as in postgresql://HOST/NAME"
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.strip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def read_url(name: str, url: str, schemes: set[str], expected: str) -> SplitResult:
    """Takes a URL apart. Raises SettingError for another scheme or a port that is none."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in schemes and (parts.port or 1) > 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise SettingError(name, without_password(url), expected)
    return parts


def without_password(url: str) -> str:
    """The URL as it may be printed."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:…@", url)


def read_broker(name: str, default: str, *, env: Mapping[str, str] = os.environ) -> str:
    url = env.get(name) or default
    if not url.startswith("memory:"):
        read_url(name, url, BROKERS, "redis://HOST:PORT/N or amqp://USER:PASSWORD@HOST:PORT/VHOST")
    return url


def read_choice(
    name: str, default: str, choices: tuple[str, ...], *, env: Mapping[str, str] = os.environ
) -> str:
    value = env.get(name) or default
    if value not in choices:
        raise SettingError(name, value, f"one of {', '.join(choices)}")
    return value


def sqlite_database(path: Path) -> dict:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;",
        },
    }
