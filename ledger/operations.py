"""An outbox item seen from two sides: the accounting operation that it moves, and the call that the contract gets."""

from collections.abc import Sequence
from hashlib import sha256

from ledger import accounting, evidence
from ledger.chain import port
from ledger.models import OutboxItem


def operation_of(item: OutboxItem) -> accounting.Operation:
    """Returns what the item means in the books."""
    detail, user = item.detail, item.user.ref if item.user else ""
    job = item.job.ref if item.job else ""
    match item.kind:
        case OutboxItem.Kind.REWARD:
            campaign = item.campaign.ref if item.campaign else ""
            return accounting.Reward(campaign, user, item.amount, pairs(detail.get("offsets", [])))
        case OutboxItem.Kind.UNLOCK:
            return accounting.Unlock(user, item.amount)
        case OutboxItem.Kind.LOCK:
            return accounting.Lock(user, job, item.amount)
        case OutboxItem.Kind.SETTLE:
            return accounting.Settle(user, job, detail["maximum"], item.amount, pairs(detail["payouts"]))
        case OutboxItem.Kind.PAY:
            return accounting.Pay(job, pairs(detail["payouts"]))
        case _:
            return accounting.Release(user, job, item.amount)


def pairs(lists: Sequence[Sequence]) -> tuple[tuple[str, int], ...]:
    return tuple((ref, amount) for ref, amount in lists)


def paid_amount(item: OutboxItem) -> int:
    """Returns what a reward's beneficiary gets on chain: the reward less what is held back."""
    return item.amount - sum(amount for _, amount in item.detail.get("offsets", []))


def call_of(items: Sequence[OutboxItem], accounts: dict[str, str]) -> port.Call:
    """Returns the call for a batch. `items` are rewards with numbers in sequence, or one item of another kind.

    `accounts` maps references to their ids on chain (hex).
    """
    head = items[0]
    user = bytes.fromhex(head.user.chain_id) if head.user else b""
    job = bytes.fromhex(head.job.chain_id) if head.job else b""
    match head.kind:
        case OutboxItem.Kind.REWARD:
            return reward_call(items)
        case OutboxItem.Kind.UNLOCK:
            return port.Unlock(user, head.amount, op_id(head))
        case OutboxItem.Kind.LOCK:
            return port.Lock(user, job, head.amount)
        case OutboxItem.Kind.SETTLE:
            return port.Settle(job, head.amount)
        case OutboxItem.Kind.PAY:
            payouts = pairs(head.detail["payouts"])
            ids = tuple(bytes.fromhex(accounts[ref]) for ref, _ in payouts)
            return port.PayWorkers(job, head.detail["first"], ids, tuple(amount for _, amount in payouts))
        case _:
            return port.Release(job)


def reward_call(items: Sequence[OutboxItem]) -> port.RecordRewards:
    return port.RecordRewards(
        first=items[0].number or 0,
        accounts=tuple(bytes.fromhex(item.user.chain_id) for item in items if item.user),
        amounts=tuple(paid_amount(item) for item in items),
        evidence_root=evidence.root_of([leaf_of(item) for item in items]),
    )


def leaf_of(item: OutboxItem) -> evidence.Leaf:
    contribution = sha256(item.ref.encode()).digest()
    return evidence.Leaf(item.number or 0, contribution, bytes.fromhex(item.evidence), item.policy_version)


def op_id(item: OutboxItem) -> bytes:
    """The contract does each op id once, so the same unlock cannot happen twice under two transactions."""
    return sha256(f"{item.user.chain_id if item.user else ''}:{item.kind}:{item.key}".encode()).digest()
