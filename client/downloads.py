"""Downloads to disk: resumed where they broke off, checked against their SHA-256, and never half a file in place."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx

from client.errors import CorruptDownload, HydraError
from client.transport import Transport

Progress = Callable[[str, int, int], None]  # name, bytes so far, bytes in all (0 where unknown)


@dataclass(frozen=True)
class Wanted:
    """`sha256` may be "" where nothing was promised; then the server's ETag is the promise, if it is a SHA-256."""

    path: str
    target: Path
    sha256: str = ""


def download(transport: Transport, wanted: Wanted, progress: Progress | None = None) -> Path:
    """The file at `wanted.target`, complete and checked; one already there with the right hash is left alone.

    What has arrived lies in `<target>.part` and is continued from there, also by a later call.
    Raises: CorruptDownload (nothing is left), ApiError, Unreachable (the part is left for the next try).
    """
    if wanted.sha256 and wanted.target.is_file() and sha256_of(wanted.target) == wanted.sha256:
        return wanted.target
    wanted.target.parent.mkdir(parents=True, exist_ok=True)
    part = wanted.target.with_name(wanted.target.name + ".part")
    promised = _fetch_all(transport, wanted, part, progress)
    if promised and (received := sha256_of(part)) != promised:
        part.unlink()
        raise CorruptDownload(wanted.target.name, promised, received)
    part.replace(wanted.target)
    return wanted.target


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch_all(transport: Transport, wanted: Wanted, part: Path, progress: Progress | None) -> str:
    """Fills `part`; → the SHA-256 that it should have, or "". A try that brought bytes starts the count of tries anew."""
    patience = transport.patience
    attempt = 0
    while True:
        before = _size(part)
        try:
            tag = _fetch_rest(transport, wanted, part, progress)
            return wanted.sha256 or (tag if len(tag) == 64 else "")
        except HydraError as exc:
            attempt = 0 if _size(part) > before else attempt + 1
            if not exc.retry or attempt >= patience.tries:
                raise
            patience.sleep(patience.wait_s(attempt, getattr(exc, "retry_after_s", None)))


def _fetch_rest(transport: Transport, wanted: Wanted, part: Path, progress: Progress | None) -> str:
    """One request for what is missing of `part`; → the ETag without its quotes."""
    have = _size(part)
    headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if wanted.sha256:
            headers["If-Range"] = f'"{wanted.sha256}"'
    with transport.stream(wanted.path, headers) as response:
        tag = response.headers.get("ETag", "").strip('"')
        if (
            response.status_code == 416
        ):  # all is there already, or the part is of another file: the hash will tell
            return tag
        resumed = response.status_code == 206 and _starts_at(response) == have
        with part.open("ab" if resumed else "wb") as stream:
            _copy(response, stream, have if resumed else 0, wanted.target.name, progress)
        return tag


def _copy(
    response: httpx.Response, stream: BinaryIO, done: int, name: str, progress: Progress | None
) -> None:
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else 0
    for chunk in response.iter_bytes():  # without a chunk size: a broken connection must not lose a buffer
        stream.write(chunk)
        done += len(chunk)
        if progress:
            progress(name, done, total)


def _starts_at(response: httpx.Response) -> int:
    span = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    return int(span) if span.isdecimal() else -1


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
