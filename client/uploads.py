"""What to upload, and uploading it: folders walked in a fixed order, files streamed, few open at a time."""

import hashlib
import json
import mimetypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from client.downloads import sha256_of
from client.errors import ConfigurationError, HydraError
from client.transport import JSON, Transport

AT_ONCE = 4  # files in flight, and so descriptors open; more only queue at the server


@dataclass(frozen=True)
class UploadFile:
    """`relative_path` keeps the folders from the one that was named: a folder may be the class of what is in it."""

    path: Path
    relative_path: str
    bytes: int


@dataclass(frozen=True)
class Terms:
    """What is said beside every file: its class where no folder or column says it, and declared groups."""

    label: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    delimiter: str = ""

    def form(self) -> dict[str, str]:
        fields = {"label": self.label, "encoding": self.encoding, "delimiter": self.delimiter}
        if self.attributes:
            fields["attributes"] = json.dumps(dict(self.attributes), sort_keys=True)
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True)
class Sent:
    """One file's outcome: the server's answer, or the error that kept it from arriving."""

    file: UploadFile
    answer: JSON | None
    error: HydraError | None


Progress = Callable[[Sent], None]


def find_files(paths: Sequence[Path]) -> list[UploadFile]:
    """All files named or below the folders named, in the order of their names. Links to folders are not followed.

    Raises: ConfigurationError, where a path is absent, a file cannot be read, or there is none.
    """
    found = [one for path in paths for one in _files_at(Path(path))]
    if not found:
        raise ConfigurationError(f"There are no files at {', '.join(map(str, paths))}.")
    return found


def send_files(
    transport: Transport,
    submission: str,
    files: Iterable[UploadFile],
    terms: Terms,
    *,
    progress: Progress | None = None,
    at_once: int = AT_ONCE,
) -> list[Sent]:
    """Sends every file; one that is refused does not stop the others. → outcomes, in the order they ended.

    `progress` is called in the caller's thread; with `at_once` 1 all happens there. A file is known by its place and bytes, so that sending the same
    files into the same submission again (after a crash) makes no second items.
    Raises: whatever hits all files alike (no access, the server gone), after those in flight have ended.
    """
    queue = iter(files)
    if at_once == 1:
        results = (_send(transport, submission, file, terms) for file in queue)
        return [_told(sent, progress) for sent in results]
    outcomes: list[Sent] = []
    pending: set[Future[Sent]] = set()
    with ThreadPoolExecutor(at_once) as pool:
        while True:
            for file in islice(queue, at_once - len(pending)):
                pending.add(pool.submit(_send, transport, submission, file, terms))
            if not pending:
                return outcomes
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            outcomes += [_told(future.result(), progress) for future in done]


def _told(sent: Sent, progress: Progress | None) -> Sent:
    if progress:
        progress(sent)
    return sent


def _send(transport: Transport, submission: str, file: UploadFile, terms: Terms) -> Sent:
    try:
        answer = _send_one(transport, submission, file, terms)
    except OSError as exc:
        return Sent(file, None, ConfigurationError(f"{file.path} cannot be read ({exc.strerror or exc})."))
    except HydraError as exc:
        if getattr(exc, "status", None) in {
            400,
            413,
            422,
        }:  # about this file; anything else is about all of them
            return Sent(file, None, exc)
        raise
    return Sent(file, answer, None)


def _send_one(transport: Transport, submission: str, file: UploadFile, terms: Terms) -> JSON:
    fields = {"relative_path": file.relative_path, **terms.form()}
    identity = json.dumps([submission, fields, sha256_of(file.path)], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()
    kind = mimetypes.guess_type(file.path.name)[0] or "application/octet-stream"
    with file.path.open("rb") as stream:

        def form() -> dict[str, Any]:
            stream.seek(0)
            return {"data": fields, "files": {"file": (_sendable(file.path.name), stream, kind)}}

        return transport.post_form(f"/submissions/{submission}/files", form, key=key)


def _files_at(path: Path) -> Iterator[UploadFile]:
    if path.is_dir():
        root = path.resolve()
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                inside = Path(folder, name)
                yield _file(inside, f"{root.name}/{inside.relative_to(path).as_posix()}")
    else:
        yield _file(path, path.name)


def _file(path: Path, relative_path: str) -> UploadFile:
    if not path.exists():
        raise ConfigurationError(f"{path} does not exist.")
    if not path.is_file():
        raise ConfigurationError(f"{path} is not a regular file.")
    if not os.access(path, os.R_OK):
        raise ConfigurationError(f"{path} cannot be read; check its permissions.")
    return UploadFile(path, _sendable(relative_path), path.stat().st_size)


def _sendable(name: str) -> str:
    """A name that is not UTF-8 on disk, with � for the bytes that are none."""
    return os.fsencode(name).decode("utf-8", "replace")
