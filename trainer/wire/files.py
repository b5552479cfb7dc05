"""A file as its hash-checked pieces: how release shards and model states are named, fetched and verified."""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO, Self

from trainer.errors import BadMessage
from trainer.wire.fields import INT53, Checked, hexadecimal, integer, list_of, rule, text

PIECE_BYTES = 262_144
MOST_PIECES = 4_000_000


class PieceFile(Checked):
    """Bytes with this SHA-256, cut every `piece_bytes`; `pieces` are the cuts' SHA-256 in order. `name` is no path."""

    KIND = "file"
    name: str = rule(text(200, shortest=1, pattern=r"[0-9A-Za-z_][0-9A-Za-z._-]*"))
    bytes: int = rule(integer(0, INT53))
    sha256: str = rule(hexadecimal(32))
    piece_bytes: int = rule(integer(1024, 2**26))
    pieces: tuple[str, ...] = rule(list_of(hexadecimal(32), most=MOST_PIECES))

    def check(self) -> None:
        expected = -(-self.bytes // self.piece_bytes)
        if len(self.pieces) != expected:
            raise BadMessage(self.KIND, "pieces", f"{len(self.pieces)} hashes for {expected} pieces")

    def spans(self) -> Iterator[tuple[int, int, str]]:
        """(offset, bytes, sha256) of each piece."""
        for index, sha256 in enumerate(self.pieces):
            offset = index * self.piece_bytes
            yield offset, min(self.piece_bytes, self.bytes - offset), sha256

    @classmethod
    def of_stream(cls, name: str, stream: BinaryIO, piece_bytes: int = PIECE_BYTES) -> Self:
        """Reads to the end of `stream`. Cost: two SHA-256 over its bytes."""
        whole, pieces, size = hashlib.sha256(), [], 0
        while piece := stream.read(piece_bytes):
            whole.update(piece)
            pieces.append(hashlib.sha256(piece).hexdigest())
            size += len(piece)
        return cls(
            name=name, bytes=size, sha256=whole.hexdigest(), piece_bytes=piece_bytes, pieces=tuple(pieces)
        )
