"""Evidence as bytes that anybody can make again: canonical JSON, its SHA-256, and the Merkle root over an item's rows.

The root is what the ledger commits to with a reward. Scheme as in the ledger's batch tree: a leaf is hashed twice,
a node is the SHA-256 of its two children in ascending order, an odd node moves up unchanged.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

TAG = b"hydra-evidence/1"
EMPTY_ROOT = bytes(32)
PLAIN = frozenset({str, int, bool, type(None)})
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
DECIMALS = 6  # measures differ in their last bits between processors; a digest must not


@dataclass(frozen=True)
class Statement:
    """One validator's answer about one subject ("item:<uuid>", "submission:<uuid>", "campaign:<uuid>")."""

    subject: str
    validator: str
    version: str
    seed: int
    outcome: str
    score: float | None
    direction: str = "quality"
    reasons: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    input_sha256: str = ""

    def as_json(self) -> dict[str, Any]:
        """The content of the leaf, with numbers rounded to six decimals."""
        return {
            "subject": self.subject,
            "validator": self.validator,
            "version": self.version,
            "seed": self.seed,
            "outcome": self.outcome,
            "score": plain(self.score),
            "direction": self.direction,
            "reasons": list(self.reasons),
            "data": plain(self.data),
            "input_sha256": self.input_sha256,
        }

    def digest(self) -> str:
        return sha256(canonical_json(self.as_json())).hexdigest()


def plain(value: Any) -> Any:
    """JSON whose numbers survive a database and another language: finite, rounded, whole floats as integers."""
    kind = type(value)  # exact types first: an item has dozens of numbers, and asking for Mapping is dear
    if kind in PLAIN:
        return value
    if kind is float:
        return _plain_number(value)
    if kind is dict:
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return _plain_number(float(value))


def _plain_number(number: float) -> int | float | None:
    if not math.isfinite(number):
        return None
    rounded = round(number, DECIMALS)
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 2**53 else rounded


def canonical_json(value: Any) -> bytes:
    """Keys sorted, no spaces, UTF-8: one value has one encoding."""
    return CANONICAL.encode(value).encode()


def leaf_of(digest: str) -> bytes:
    return sha256(sha256(TAG + bytes.fromhex(digest)).digest()).digest()


def root_of(digests: Sequence[str]) -> bytes:
    """32 bytes over the digests in ascending order; the order in which rows were stored changes nothing."""
    level = [leaf_of(digest) for digest in sorted(digests)]
    while len(level) > 1:
        level = _next(level)
    return level[0] if level else EMPTY_ROOT


def proof_of(digests: Sequence[str], digest: str) -> list[str]:
    """The siblings, in hex, from this digest's leaf up to the root. Raises: ValueError where it is not among them."""
    ordered = sorted(digests)
    index = ordered.index(digest)
    level, proof = [leaf_of(one) for one in ordered], []
    while len(level) > 1:
        if (sibling := index ^ 1) < len(level):
            proof.append(level[sibling].hex())
        level, index = _next(level), index // 2
    return proof


def verifies(digest: str, proof: Sequence[str], root: bytes) -> bool:
    node = leaf_of(digest)
    for sibling in proof:
        node = _join(node, bytes.fromhex(sibling))
    return node == root


def _next(level: Sequence[bytes]) -> list[bytes]:
    return [_join(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]


def _join(left: bytes, right: bytes) -> bytes:
    return sha256(min(left, right) + max(left, right)).digest()
