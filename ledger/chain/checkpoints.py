"""Generations of the embedded chain's state on disk: written whole or not at all, read back newest valid first.

A state file is anvil's own dump, which is gzip: its CRC tells a torn file. `checkpoint.json` tells others which block a
kill can no longer undo; it is written after the state it speaks of, and gone while nobody can say.
"""

import gzip
import json
import re
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from ledger.chain.deployment import sync_folder, write_durably
from ledger.errors import NodeFailed

GENERATIONS = 3
NOTE_NAME = "checkpoint.json"
LOAD_NAME = "load.json"
STATE_NAME = re.compile(r"state-(\d{10})\.json\.gz")


@dataclass(frozen=True)
class Checkpoint:
    """A block that is durable: its state and all before it survive a kill -9."""

    block: int
    hash: str


@dataclass(frozen=True)
class Restored:
    """`state` is what anvil can load, None for a new chain; `refused` names the generations that are damaged."""

    state: Path | None
    refused: tuple[str, ...]


class Checkpoints:
    """The state files in one folder. One process at a time; devnode holds a lock."""

    def __init__(self, folder: Path, generations: int = GENERATIONS) -> None:
        self.folder, self.generations = folder, generations
        self.newest: Checkpoint | None = None
        self.sequence = 0

    def restore(self) -> Restored:
        """Unpacks the newest valid generation for anvil. Until the next `save`, nothing is called durable.

        Raises NodeFailed when generations exist and none is valid: starting an empty chain would look like a lost ledger.
        """
        (self.folder / NOTE_NAME).unlink(missing_ok=True)
        sync_folder(self.folder)
        files = self.state_files()
        self.sequence = max((number_of(path) for path in files), default=0)
        refused: list[str] = []
        for path in reversed(files):
            state = read_state(path)
            if state is not None:
                (self.folder / LOAD_NAME).write_bytes(state)
                return Restored(self.folder / LOAD_NAME, tuple(refused))
            refused.append(path.name)
        if refused:
            raise NodeFailed(
                f"no checkpoint in {self.folder} is readable ({', '.join(refused)}); restore one, or move them away"
            )
        return Restored(None, ())

    def save(self, head: Checkpoint, dump: bytes) -> None:
        """Writes one generation, then says so, then drops what is older than the last `generations`. Raises NodeFailed."""
        try:
            self.sequence += 1
            write_durably(self.folder / f"state-{self.sequence:010d}.json.gz", dump)
            write_durably(self.folder / NOTE_NAME, json.dumps(asdict(head)).encode() + b"\n")
            self.newest = head
            for path in self.state_files()[: -self.generations]:
                path.unlink()
        except OSError as error:
            raise NodeFailed(
                f"the checkpoint could not be written in {self.folder}: {error.strerror}"
            ) from error

    def state_files(self) -> list[Path]:
        """Oldest first."""
        return sorted(path for path in self.folder.iterdir() if STATE_NAME.fullmatch(path.name))


def number_of(path: Path) -> int:
    match = STATE_NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def read_state(path: Path) -> bytes | None:
    """The dump's JSON, or None when the file is torn."""
    try:
        state = gzip.decompress(path.read_bytes())
        return state if "best_block_number" in json.loads(state) else None
    except (OSError, EOFError, zlib.error, ValueError, TypeError):
        return None
