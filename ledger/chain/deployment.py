"""Which contract stands where: the compiled artifact, and the record that a deployment leaves behind. Reads and writes files only."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ledger.errors import WrongChain

ARTIFACT = Path(__file__).resolve().parents[1] / "contracts" / "artifacts" / "HydraLedger.json"
RECORD_NAME = "deployment.json"


@dataclass(frozen=True)
class Artifact:
    """What compile.mjs wrote. `immutables` are the byte ranges of the code that each deployment fills in."""

    abi: tuple[dict[str, Any], ...]
    bytecode: bytes
    deployed_bytecode: bytes
    immutables: tuple[tuple[int, int], ...]
    source_hash: str

    @property
    def code_hash(self) -> str:
        return self.hash_of(self.deployed_bytecode)

    def hash_of(self, code: bytes) -> str:
        """SHA-256 of deployed code with the immutables blanked: equal for every deployment of the same sources."""
        blank = bytearray(code)
        for start, length in self.immutables:
            blank[start : start + length] = bytes(len(blank[start : start + length]))
        return hashlib.sha256(blank).hexdigest()


@cache
def load_artifact(path: Path = ARTIFACT) -> Artifact:
    stored = json.loads(path.read_text())
    return Artifact(
        abi=tuple(stored["abi"]),
        bytecode=bytes.fromhex(stored["bytecode"][2:]),
        deployed_bytecode=bytes.fromhex(stored["deployedBytecode"][2:]),
        immutables=tuple((at["start"], at["length"]) for at in stored["immutables"]),
        source_hash=stored["sourceHash"],
    )


@dataclass(frozen=True)
class Deployment:
    """One deployed contract. `roles` maps each role to the address that held it at deployment."""

    address: str
    chain_id: int
    block: int
    tx_hash: str
    code_hash: str
    roles: dict[str, str]

    def save(self, folder: Path) -> None:
        write_durably(folder / RECORD_NAME, json.dumps(asdict(self), indent=1).encode() + b"\n")


def find_deployment(folder: Path) -> Deployment | None:
    """Returns the record in `folder`, or None where there is none. Raises WrongChain when it cannot be read."""
    path = folder / RECORD_NAME
    try:
        return Deployment(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise WrongChain("a deployment record", f"an unreadable {path} ({error})") from error


def fetch_deployment(folder: Path) -> Deployment:
    """Returns the record in `folder`. Raises WrongChain when nothing was deployed."""
    found = find_deployment(folder)
    if found is None:
        raise WrongChain("a deployed contract", f"no {folder / RECORD_NAME}")
    return found


def write_durably(path: Path, content: bytes) -> None:
    """Replaces a file so that after a power cut it is either the old one or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes a rename in `folder` durable: without it the old name may come back after a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
