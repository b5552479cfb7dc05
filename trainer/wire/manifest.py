"""The part of a release's manifest that the network needs: which files, in which pieces. Their contents are recipes'."""

from collections.abc import Mapping
from typing import Any

from trainer.errors import BadMessage, ReleaseInvalid
from trainer.wire.files import PieceFile

FORMAT = "hydra-release/1"


def parse_files(manifest: Any, role: str) -> list[PieceFile]:
    """The files of one role ("train" or "test"), in the manifest's order. Raises ReleaseInvalid."""
    if not isinstance(manifest, Mapping) or manifest.get("format") != FORMAT:
        raise ReleaseInvalid("?", f"its manifest is not of the format {FORMAT}")
    release, entries = str(manifest.get("release")), manifest.get("files")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ReleaseInvalid(release, "its manifest has no list of files")
    wanted = ("name", "bytes", "sha256", "piece_bytes", "pieces")
    try:
        chosen = [entry for entry in entries if entry.get("role") == role]
        return [PieceFile.from_dict({name: entry.get(name) for name in wanted}) for entry in chosen]
    except BadMessage as error:
        raise ReleaseInvalid(release, f"a {role} file's entry is wrong: {error}") from error


def without_tests(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What volunteers are told: they must not know the held-out files, not even by hash."""
    entries = [entry for entry in manifest["files"] if entry.get("role") == "train"]
    return {**manifest, "files": entries}
