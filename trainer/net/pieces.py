"""Files as hash-checked pieces: a store that serves them, and a fetch from several holders at once that can resume.

What is fetched is believed only by its SHA-256; a holder that sends anything else is not asked again.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from trainer.errors import ChannelClosed, NetError, PieceUnavailable, WireError
from trainer.net.endpoint import Session
from trainer.wire.files import PieceFile
from trainer.wire.messages import Address, Piece, Want

Connect = Callable[[Address], Awaitable[Session]]
PIECE_S = 30.0  # a holder that takes longer for one piece is left


class PieceStore:
    """What this process can serve, by piece hash: parts of files on disk, or bytes held in memory."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Path | bytes, int, int]] = {}
        self._files: dict[str, PieceFile] = {}

    def add(self, file: PieceFile, source: Path | bytes) -> None:
        self._files[file.sha256] = file
        for offset, size, sha256 in file.spans():
            self._places[sha256] = (source, offset, size)

    def remove(self, sha256: str) -> None:
        """Forgets a file by its own hash."""
        file = self._files.pop(sha256, None)
        for piece in file.pieces if file else ():
            self._places.pop(piece, None)

    def __contains__(self, file_sha256: str) -> bool:
        return file_sha256 in self._files

    def find(self, piece_sha256: str) -> bytes | None:
        if piece_sha256 not in self._places:
            return None
        source, offset, size = self._places[piece_sha256]
        if isinstance(source, bytes):
            return source[offset : offset + size]
        with suppress(OSError), source.open("rb") as stream:
            stream.seek(offset)
            return stream.read(size)
        return None


async def serve_pieces(session: Session, store: PieceStore) -> None:
    """Answers until the other end goes away or breaks the protocol."""
    with suppress(NetError, WireError):
        while True:
            message, _ = await session.receive()
            if not isinstance(message, Want):
                return
            data = store.find(message.sha256)
            await session.send(Piece(sha256=message.sha256, found=data is not None), data or b"")


async def fetch_file(file: PieceFile, holders: Sequence[Address], connect: Connect, cache: Path) -> Path:
    """The file, as cache/HASH/NAME; what an earlier call had fetched is not fetched again.

    Raises: PieceUnavailable (try again later); the verified pieces stay on disk.
    """
    path = cache / file.sha256 / file.name
    if path.exists() and path.stat().st_size == file.bytes:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial")
    missing = await asyncio.to_thread(_missing, file, partial)
    if missing:
        await _fetch_missing(missing, holders, connect, partial)
    await asyncio.to_thread(_seal, file, partial, path)
    return path


def _missing(file: PieceFile, partial: Path) -> list[tuple[int, int, str]]:
    """The pieces that `partial` does not hold yet; makes it when there is none."""
    if not partial.exists():
        partial.touch(mode=0o600)
    with partial.open("r+b") as stream:
        held = partial.stat().st_size
        stream.truncate(file.bytes)
        return [span for span in file.spans() if span[0] >= held or not _holds(stream, span)]


def _holds(stream, span: tuple[int, int, str]) -> bool:  # type: ignore[no-untyped-def]
    stream.seek(span[0])
    return hashlib.sha256(stream.read(span[1])).hexdigest() == span[2]


async def _fetch_missing(
    missing: list[tuple[int, int, str]], holders: Sequence[Address], connect: Connect, partial: Path
) -> None:
    wanted = missing[::-1]
    descriptor = os.open(partial, os.O_WRONLY)
    try:
        await asyncio.gather(*(_drain(holder, wanted, connect, descriptor) for holder in holders))
        for holder in holders:  # what a failing holder put back after the others had finished
            if wanted:
                await _drain(holder, wanted, connect, descriptor)
    finally:
        os.close(descriptor)
    if wanted:
        raise PieceUnavailable(wanted[-1][2], len(holders))


async def _drain(
    holder: Address, wanted: list[tuple[int, int, str]], connect: Connect, descriptor: int
) -> None:
    """Fetches pieces from one holder until none is wanted or the holder fails; its last one is then put back."""
    try:
        session = await connect(holder)
    except (NetError, WireError):
        return
    try:
        while wanted:
            span = wanted.pop()
            data = None
            try:
                data = await _ask(session, span)
            finally:
                if data is None:
                    wanted.append(span)
            if data is None:
                return
            os.pwrite(descriptor, data, span[0])
    except (NetError, WireError, TimeoutError):
        return
    finally:
        session.close()


async def _ask(session: Session, span: tuple[int, int, str]) -> memoryview | None:
    async with asyncio.timeout(PIECE_S):
        await session.send(Want(sha256=span[2]))
        message, payload = await session.receive()
    if not isinstance(message, Piece) or message.sha256 != span[2]:
        raise ChannelClosed(session.channel.remote, "answered something else")
    good = message.found and len(payload) == span[1] and hashlib.sha256(payload).hexdigest() == span[2]
    return payload if good else None


def _seal(file: PieceFile, partial: Path, path: Path) -> None:
    """Checks the whole, makes it durable, gives it its name."""
    with partial.open("rb") as stream:
        whole = hashlib.file_digest(stream, "sha256").hexdigest()
        os.fsync(stream.fileno())
    if whole != file.sha256:
        partial.unlink()
        raise PieceUnavailable(file.sha256, 0)
    partial.replace(path)
