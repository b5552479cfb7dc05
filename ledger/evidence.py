"""The Merkle tree over a batch's rewards, so that anyone can check what a reward on chain was paid for. Pure.

Leaf = SHA-256(SHA-256(tag ‖ number ‖ contribution ‖ evidence ‖ policy)), hashed twice so that no inner node can be
passed off as a leaf; inner node = SHA-256 of its two children in ascending order, so that a proof needs no
directions; an odd node moves up unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

TAG = b"hydra-reward/1"
EMPTY_ROOT = bytes(32)


@dataclass(frozen=True)
class Leaf:
    """`contribution` is the salted id of the contribution, `evidence` the hash of its evidence; 32 bytes each."""

    number: int
    contribution: bytes
    evidence: bytes
    policy_version: str

    def digest(self) -> bytes:
        policy = sha256(self.policy_version.encode()).digest()
        body = TAG + self.number.to_bytes(32, "big") + self.contribution + self.evidence + policy
        return sha256(sha256(body).digest()).digest()


def root_of(leaves: Sequence[Leaf]) -> bytes:
    level = [leaf.digest() for leaf in leaves]
    while len(level) > 1:
        level = next_level(level)
    return level[0] if level else EMPTY_ROOT


def proof_of(leaves: Sequence[Leaf], index: int) -> tuple[bytes, ...]:
    """Returns the siblings from the leaf at `index` up to the root."""
    level, proof = [leaf.digest() for leaf in leaves], []
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            proof.append(level[sibling])
        level, index = next_level(level), index // 2
    return tuple(proof)


def verifies(leaf: Leaf, proof: Sequence[bytes], root: bytes) -> bool:
    node = leaf.digest()
    for sibling in proof:
        node = join(node, sibling)
    return node == root


def next_level(level: Sequence[bytes]) -> list[bytes]:
    return [join(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]


def join(left: bytes, right: bytes) -> bytes:
    return sha256(min(left, right) + max(left, right)).digest()
