"""Credits: unlock tokens, lock credits for a job, settle what it used, release the rest."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from ledger.accounting import Kind, Slot, check_amount
from ledger.errors import BadInput, EscrowClosed, InsufficientCredits, InsufficientTokens
from ledger.models import Escrow as EscrowRow
from ledger.models import OutboxItem, Owner
from ledger.posting import owner_of
from ledger.rules import chunks
from ledger.service.outbox import submit
from ledger.service.results import Escrow, Unlock

Kinds = OutboxItem.Kind
Status = EscrowRow.Status
UNLOCK_SHOWN = {OutboxItem.Status.FINAL: "settled", OutboxItem.Status.REVERTED: "reverted"}


def unlock_credits(user_ref: str, amount: int, *, key: str) -> Unlock:
    """Takes tokens from available at once; they are credits when the unlock is final.

    Raises: BadInput, KeyReused, InsufficientTokens.
    """
    check_amount("amount", amount)

    def check(standing: Mapping[Slot, int]) -> None:
        available = standing.get(Slot(Kind.AVAILABLE, user_ref), 0)
        if available < amount:
            raise InsufficientTokens(available, amount)

    def build() -> Mapping[str, object]:
        return {"user": owner_of(user_ref), "amount": amount}

    item = submit(Kinds.UNLOCK, key, {"user": user_ref, "amount": amount}, build, check=check)
    return Unlock(key, amount, UNLOCK_SHOWN.get(OutboxItem.Status(item.status), "pending"))


def lock_credits(user_ref: str, job_ref: str, maximum: int, *, key: str) -> Escrow:
    """Sets credits aside for a job; the escrow is pending until the lock is final. One escrow for each job, for ever.

    Raises: BadInput, KeyReused, InsufficientCredits, EscrowClosed when the job has an escrow under another key.
    """
    check_amount("maximum", maximum)

    def check(standing: Mapping[Slot, int]) -> None:
        credits = standing.get(Slot(Kind.CREDITS, user_ref), 0)
        if credits < maximum:
            raise InsufficientCredits(credits, maximum)

    def build() -> Mapping[str, object]:
        user, job = owner_of(user_ref), owner_of(job_ref)
        row, is_new = EscrowRow.objects.get_or_create(job=job, defaults={"user": user, "maximum": maximum})
        if not is_new:
            raise EscrowClosed(job_ref, row.status, "be locked again")
        return {"user": user, "job": job, "ref": job_ref, "amount": maximum}

    body = {"user": user_ref, "job": job_ref, "maximum": maximum}
    submit(Kinds.LOCK, key, body, build, check=check)
    return escrow(job_ref)


def escrow(job_ref: str) -> Escrow:
    """Returns where a job's credits stand. Raises: EscrowClosed when none were ever locked for it."""
    row = EscrowRow.objects.select_related("job", "user").filter(job__ref=job_ref).first()
    if row is None:
        raise EscrowClosed(job_ref, "missing", "be read")
    return Escrow(job_ref, row.user.ref, row.status, row.maximum, row.used)


@transaction.atomic
def settle_job(job_ref: str, used: int, payouts: Sequence[tuple[str, int]], *, key: str) -> Escrow:
    """Claims `used` of what is locked, pays the volunteers out of it, burns the rest of it, returns what was not used.

    Several payouts to one volunteer are added up. Allowed while the lock is not final: the outbox keeps the order.
    Raises: BadInput unless Σ payouts ≤ used ≤ maximum; KeyReused; EscrowClosed when it was settled or released.
    """
    check_amount("used", used, low=0)
    shares = add_up(payouts)
    if sum(amount for _, amount in shares) > used:
        raise BadInput("payouts", sum(amount for _, amount in shares), f"a sum of at most used = {used}")

    def build() -> Mapping[str, object]:
        row = close(job_ref, "be settled")
        if used > row.maximum:
            raise BadInput("used", used, f"at most the locked maximum of {row.maximum}")
        row.used = used
        row.save(update_fields=["status", "used"])
        detail = {"maximum": row.maximum, "payouts": shares}
        return {"user": row.user, "job": row.job, "ref": job_ref, "amount": used, "detail": detail}

    body = {"job": job_ref, "used": used, "payouts": shares}
    item = submit(Kinds.SETTLE, key, body, build)
    for first, part in chunks(shares):
        submit_payouts(item, first, part)
    return escrow(job_ref)


def submit_payouts(settlement: OutboxItem, first: int, part: list[tuple[str, int]]) -> None:
    job = settlement.job

    def build() -> Mapping[str, object]:
        for ref, _ in part:
            owner_of(ref)
        amount = sum(share for _, share in part)
        detail = {"first": first, "payouts": part}
        return {"user": None, "job": job, "ref": settlement.ref, "amount": amount, "detail": detail}

    submit(Kinds.PAY, f"{settlement.key}/{first}", {"first": first, "payouts": part}, build)


def add_up(payouts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Returns one positive share for each volunteer, in the order of their references."""
    shares: dict[str, int] = {}
    for ref, amount in payouts:
        shares[ref] = shares.get(ref, 0) + check_amount(f"payout to {ref}", amount, low=0)
    return sorted((ref, amount) for ref, amount in shares.items() if amount)


@transaction.atomic
def release_job(job_ref: str, *, key: str) -> Escrow:
    """Returns everything that was locked for a job that used nothing.

    Raises: KeyReused; EscrowClosed when it was settled or released, or never locked.
    """

    def build() -> Mapping[str, object]:
        row = close(job_ref, "be released")
        row.save(update_fields=["status"])
        return {"user": row.user, "job": row.job, "ref": job_ref, "amount": row.maximum}

    submit(Kinds.RELEASE, key, {"job": job_ref}, build)
    return escrow(job_ref)


def close(job_ref: str, step: str) -> EscrowRow:
    """Returns the locked row of an escrow that may still be settled or released, its status set to settling."""
    job = Owner.objects.filter(ref=job_ref).first()
    row = (
        EscrowRow.objects.select_for_update(of=("self",))
        .select_related("job", "user")
        .filter(job=job)
        .first()
    )
    if row is None:
        raise EscrowClosed(job_ref, "missing", step)
    if row.status not in {Status.PENDING, Status.LOCKED}:
        raise EscrowClosed(job_ref, row.status, step)
    row.status = Status.SETTLING
    return row
