"""What members sign about a round, whether they did, and the record that the backbone makes of it. Pure."""

from collections.abc import Mapping

from trainer.errors import BadSignature
from trainer.wire.messages import Done, Plan, Share
from trainer.wire.records import Attestation, MemberRecord, RoundRecord


def attest(plan: Plan, share: Share, digest: str) -> Attestation:
    return Attestation(
        job=plan.job, step=plan.step, term=plan.term, batch=plan.batch, seed=plan.seed, n_items=plan.n_items,
        first=share.first, count=share.count, samples=share.count, digest=digest,
    )  # fmt: skip


def find_share(plan: Plan, peer_id: str) -> Share | None:
    return next((share for share in plan.members if share.peer_id == peer_id), None)


def is_attested(plan: Plan, peer_id: str, public_key: str, done: Done) -> bool:
    """Whether a member's `Done` carries its own signature over its share; a watcher needs none."""
    share = find_share(plan, peer_id)
    if share is None:
        return True
    if done.signature is None or done.samples != share.count:
        return False
    try:
        attest(plan, share, done.digest).verify(public_key, done.signature)
    except BadSignature:
        return False
    return True


def make_record(plan: Plan, done: Mapping[str, Done], digest: str, at: str) -> RoundRecord:
    """The committed round with every member's signature; its loss is the mean over all samples."""
    pairs = [(share, done[share.peer_id]) for share in plan.members]
    return RoundRecord(
        job=plan.job, step=plan.step, term=plan.term, batch=plan.batch, seed=plan.seed, n_items=plan.n_items,
        members=tuple(
            MemberRecord(
                peer_id=share.peer_id, first=share.first, count=share.count, samples=share.count,
                digest=vote.digest, signature=vote.signature or "",
            )
            for share, vote in pairs
        ),
        loss=sum(share.count * vote.loss for share, vote in pairs) / plan.batch, digest=digest, at=at,
    )  # fmt: skip
