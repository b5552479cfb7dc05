"""A ready release of texts, credits, and peers that sign rounds: what the job and network tests start from."""

import hashlib
import json
import struct
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from marketplace.models import Campaign, Item, Peer, Release, Submission, User
from marketplace.services import releases
from tests.ledger.world import World, reward
from trainer.wire import MemberRecord, RoundRecord

HYD = 10**9
ITEMS = 40
STEPS, BATCH, SEED = 5, 8, 0


def make_release(campaign: Campaign, contributor: User) -> Release:
    """Written by the real builder from accepted items."""
    submission = Submission.objects.create(
        campaign=campaign, contributor=contributor, consent_version=1, state="judged"
    )
    Item.objects.bulk_create(
        Item(
            campaign=campaign, submission=submission, contributor=contributor, position=number, name=f"{number}.txt",
            state="accepted", label=str(number % 2), text=f"a text of kind {number % 2} numbered {number}",
            content_sha256=hashlib.sha256(str(number).encode()).hexdigest(),
        )
        for number in range(ITEMS)
    )  # fmt: skip
    release = releases.build_release(campaign, by=campaign.owner)
    assert releases.write_release(release.pk)
    release.refresh_from_db()
    return release


def give_credits(user: User, amount: int = 100 * HYD) -> World:
    """Settled credits, by the real books; returns the chain's world, to settle more with."""
    from ledger import service as ledger

    world = World()
    ledger.fund_campaign("campaign:grant", amount, key="grant")
    reward("grant", user.ledger_ref, amount, campaign="campaign:grant")
    world.settle()
    ledger.unlock_credits(user.ledger_ref, amount, key="grant")
    world.settle()
    return world


@dataclass
class Volunteer:
    """A peer with its key, as the market knows it."""

    key: Ed25519PrivateKey
    peer: Peer

    @classmethod
    def of(cls, user: User, seed: int) -> "Volunteer":
        key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        public = key.public_key().public_bytes_raw()
        peer = Peer.objects.create(
            user=user,
            peer_id=hashlib.sha256(public).hexdigest(),
            public_key=public.hex(),
            name=f"peer {seed}",
        )
        return cls(key, peer)


def signed_round(job: str, step: int, n_items: int, volunteers: list[Volunteer], **changes) -> dict:
    """A committed round in which the volunteers share the batch evenly."""
    share, digest = BATCH // len(volunteers), hashlib.sha256(str(step).encode()).hexdigest()
    members = tuple(
        MemberRecord(
            peer_id=one.peer.peer_id, first=index * share, count=share, samples=share, digest=digest,
            signature="0" * 128,
        )
        for index, one in enumerate(volunteers)
    )  # fmt: skip
    fields = {
        "job": job, "step": step, "term": 0, "batch": BATCH, "seed": SEED, "n_items": n_items, "members": members,
        "loss": 1.0 / (step + 1), "digest": digest, "at": "2030-01-01T00:00:00Z", **changes,
    }  # fmt: skip
    unsigned = RoundRecord(**fields)
    answer = unsigned.to_dict()
    for line, member, one in zip(answer["members"], members, volunteers, strict=True):
        line["signature"] = unsigned.attestation(member).sign(one.key)
    return answer


def safetensors(value: float = 1.0) -> bytes:
    """One tensor, laid out as the format says."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<f", value)
