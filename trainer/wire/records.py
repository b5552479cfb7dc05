"""The record of a committed round, signed by its members: what the market charges and pays by.

Each member attests to its own share and to the digest of the one result that all of them hold.
"""

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from trainer.errors import BadMessage, BadSignature
from trainer.wire.fields import (
    INT32,
    INT53,
    Checked,
    hexadecimal,
    integer,
    list_of,
    number,
    record,
    rule,
    text,
)
from trainer.wire.signing import peer_id_of, sign, verify

PURPOSE = "hydra-round/1"
MOST_MEMBERS = 1024
JOB = text(64, shortest=1, pattern="[0-9A-Za-z-]+")


class Attestation(Checked):
    """What one member signs: it computed this share of this step's batch, and holds the result with this digest."""

    KIND = "attestation"
    job: str = rule(JOB)
    step: int = rule(integer(0, INT32))
    term: int = rule(integer(0, INT32))
    batch: int = rule(integer(1, INT32))
    seed: int = rule(integer(0, INT53))
    n_items: int = rule(integer(1, INT53))
    first: int = rule(integer(0, INT32))
    count: int = rule(integer(1, INT32))
    samples: int = rule(integer(1, INT32))
    digest: str = rule(hexadecimal(32))

    def sign(self, key: Ed25519PrivateKey) -> str:
        return sign(key, PURPOSE, self.to_dict())

    def verify(self, public_key: str, signature: str) -> None:
        """Raises BadSignature."""
        verify(public_key, PURPOSE, self.to_dict(), signature)


class MemberRecord(Checked):
    """One member's line in a round's record. `samples` is what is charged for it: its share's count."""

    KIND = "member"
    peer_id: str = rule(hexadecimal(32))
    first: int = rule(integer(0, INT32))
    count: int = rule(integer(1, INT32))
    samples: int = rule(integer(1, INT32))
    digest: str = rule(hexadecimal(32))
    signature: str = rule(hexadecimal(64))

    def check(self) -> None:
        if self.samples > self.count:
            raise BadMessage(self.KIND, "samples", f"{self.samples} charged for a share of {self.count}")


class RoundRecord(Checked):
    """A committed round. The members' shares tile the batch; every member names the same digest."""

    KIND = "round"
    job: str = rule(JOB)
    step: int = rule(integer(0, INT32))
    term: int = rule(integer(0, INT32))
    batch: int = rule(integer(1, INT32))
    seed: int = rule(integer(0, INT53))
    n_items: int = rule(integer(1, INT53))
    members: tuple[MemberRecord, ...] = rule(list_of(record(MemberRecord), least=1, most=MOST_MEMBERS))
    loss: float = rule(number(-1e30, 1e30))
    digest: str = rule(hexadecimal(32))
    at: str = rule(text(40, shortest=10, pattern=r"\d{4}-\d\d-\d\dT[0-9:.]+Z"))

    def check(self) -> None:
        if len({member.peer_id for member in self.members}) != len(self.members):
            raise BadMessage(self.KIND, "members", "a peer appears twice")
        reached = 0
        for member in sorted(self.members, key=lambda member: member.first):
            if member.first != reached:
                raise BadMessage(self.KIND, "members", f"shares do not tile the batch at {reached}")
            if member.digest != self.digest:
                raise BadMessage(self.KIND, "members", f"peer {member.peer_id[:12]} holds another result")
            reached += member.count
        if reached != self.batch:
            raise BadMessage(self.KIND, "members", f"shares cover {reached} of a batch of {self.batch}")

    @property
    def samples(self) -> int:
        """What the job is charged for this round."""
        return sum(member.samples for member in self.members)

    def attestation(self, member: MemberRecord) -> Attestation:
        return Attestation(
            job=self.job, step=self.step, term=self.term, batch=self.batch, seed=self.seed, n_items=self.n_items,
            first=member.first, count=member.count, samples=member.samples, digest=member.digest,
        )  # fmt: skip


def verify_record(round_record: RoundRecord, public_keys: Mapping[str, str]) -> None:
    """Checks each member's signature. `public_keys`: peer id → raw public key in hex, of enrolled peers.

    Raises: BadSignature for a peer that is not enrolled, a key that is not that peer's, or a wrong signature.
    """
    for member in round_record.members:
        public_key = public_keys.get(member.peer_id)
        if public_key is None:
            raise BadSignature("round record", member.peer_id, "not an enrolled peer")
        if peer_id_of(public_key) != member.peer_id:
            raise BadSignature("round record", member.peer_id, "the key given is not this peer's")
        round_record.attestation(member).verify(public_key, member.signature)
