"""Takes the outbox to the contract: seals batches, signs them, stores the bytes, and only then broadcasts.

One process at a time holds the lease; what protects the books is not the lease but the database: a batch has one nonce,
a nonce one batch, and every step is a transaction that can be killed before or after, never in the middle.

What is on its way is judged by the node's count of mined transactions of each key. Whatever lies at or above that count
is not on the chain now, whether it was never sent, got lost, or was taken back by a node that fell back to its last
checkpoint; it is sent again, the same bytes, in the outbox's order. Between keys the order is kept by waiting: a batch
goes out only when everything before it under other keys is mined.
"""

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Max, Q

from ledger.chain.port import SIGNER, Chain, Fee, Role
from ledger.errors import ChainUnavailable, NonceTooLow, ReplacementUnderpriced, TxRejected
from ledger.models import Alarm, Batch, ChainTx, OutboxItem, Owner, SenderLease
from ledger.operations import call_of
from ledger.rules import Queued, plan_batches
from ledger.sealed_calls import decode, encode

log = logging.getLogger(__name__)
ROLES: tuple[Role, ...] = ("recorder", "spender")
Status = OutboxItem.Status


@dataclass(frozen=True)
class Pace:
    """How the sender trades latency against cost."""

    max_age_s: float = 1.0  # a reward waits this long for company in its batch
    in_flight: int = 16  # batches on their way at once; a chain that stalls must not pile up hundreds
    resend_s: float = 5.0  # the node has the bytes; silence for so long means that it may have lost them
    replace_s: float = 90.0  # several blocks of a public chain: the fee was too low
    lease_s: float = 15.0
    queue: int = 3000


@dataclass
class Sender:
    """`holder` names this process in the lease. Keeps nothing between steps that the database does not have."""

    chain: Chain
    holder: str
    pace: Pace = field(default_factory=Pace)

    def step(self, now: datetime) -> int:
        """Does what can be done now and returns how many transactions were handed to the node.

        Raises: ChainUnavailable: nothing is lost, call again. TxRejected: an operator has to look; an alarm is open.
        """
        if not self.take_lease(now):
            return 0
        if OutboxItem.objects.filter(status=Status.QUEUED).exists():
            seal(now, self.pace, first_number=self.first_number())
        return self.send_waiting(now)

    def first_number(self) -> int:
        """Returns the number to begin with: beyond what the contract has, should these books be younger than it."""
        return (
            1 if OutboxItem.objects.exclude(number=None).exists() else max(1, self.chain.totals().next_number)
        )

    def take_lease(self, now: datetime) -> bool:
        """Takes or renews the lease by compare-and-set; False while another process holds it."""
        until = now + timedelta(seconds=self.pace.lease_s)
        held, _ = SenderLease.objects.get_or_create(name="sender", defaults={"expires_at": now})
        if held.holder == self.holder and held.expires_at - now > timedelta(seconds=self.pace.lease_s / 2):
            return True  # an idle sender writes nothing: SQLite has one writer, and pages want it
        free = Q(holder=self.holder) | Q(expires_at__lte=now)
        lease = SenderLease.objects.filter(free, name="sender")
        return bool(lease.update(holder=self.holder, expires_at=until))

    def give_up_lease(self, now: datetime) -> None:
        SenderLease.objects.filter(name="sender", holder=self.holder).update(holder="", expires_at=now)

    def send_waiting(self, now: datetime) -> int:
        """Walks the batches that are not on the chain, in order, until one has to wait."""
        mined = {role: self.chain.mined_nonce(role) for role in ROLES}
        waiting = waiting_batches(mined, self.pace.in_flight)
        close_alarms(waiting, now)
        sent, flying = self.fill_gaps(waiting, mined, now), list[Batch]()
        for batch in waiting:
            if any(other.role != batch.role for other in flying):
                flying, mined = self.look_again(flying)
                if any(other.role != batch.role for other in flying):
                    break
            sent += self.send_batch(batch, mined, now)
            flying.append(batch)
        return sent

    def look_again(self, flying: list[Batch]) -> tuple[list[Batch], dict[Role, int]]:
        """Returns which batches are still not mined: an embedded node mines at once."""
        mined = {role: self.chain.mined_nonce(role) for role in ROLES}
        return [batch for batch in flying if (batch.nonce or 0) >= mined[signer(batch)]], mined

    def send_batch(self, batch: Batch, mined: dict[Role, int], now: datetime) -> int:
        role = signer(batch)
        if batch.nonce is not None and batch.nonce < mined[role]:
            return self.settle_lost_nonce(batch, mined, now)
        if batch.nonce is None and not sign_first(self.chain, batch, mined[role], now):
            return 0  # another process was faster; the next step sees what it did
        tx = batch.transactions.filter(nonce=batch.nonce or 0).order_by("-attempt")[0]
        was_mined = batch.mined_number is not None
        if (
            was_mined
            or tx.broadcast_at is None
            or now - tx.broadcast_at >= timedelta(seconds=self.pace.resend_s)
        ):
            return self.broadcast(batch, self.replaced(batch, tx, now), now)
        return 0

    def replaced(self, batch: Batch, tx: ChainTx, now: datetime) -> ChainTx:
        """Returns bytes with a higher fee when the present ones have waited too long on a chain that moves."""
        if now - tx.signed_at < timedelta(seconds=self.pace.replace_s) or tx.broadcast_at is None:
            return tx
        if batch.mined_number is not None:
            return tx  # it was mined with these bytes once and is only sent again
        asked = self.chain.suggest_fee()
        bumped = Fee(**tx.fee).bumped()
        if (
            asked.max_per_gas <= tx.fee["max_per_gas"]
            and asked.priority_per_gas <= tx.fee["priority_per_gas"]
        ):
            return tx  # the price is not what keeps it waiting
        return sign(self.chain, batch, max_fee(asked, bumped), tx.nonce, now)

    def broadcast(self, batch: Batch, tx: ChainTx, now: datetime) -> int:
        """Hands the stored bytes to the node. The batch counts as sent before the answer is known."""
        mark_sent(batch, tx, now)
        try:
            self.chain.broadcast(bytes(tx.raw))
        except NonceTooLow:
            log.info("batch %s: nonce %s is mined already", batch.pk, tx.nonce)
        except ReplacementUnderpriced:
            log.info("batch %s: an earlier attempt waits with a fee that is too close", batch.pk)
        except ChainUnavailable:
            ChainTx.objects.filter(pk=tx.pk).update(
                broadcast_at=None
            )  # unknown: look, and send the same bytes again
            raise
        except TxRejected as error:
            ChainTx.objects.filter(pk=tx.pk).update(broadcast_at=None)
            raise_alarm("tx-rejected", f"batch {batch.pk}", error.reason, now)
            raise
        return 1

    def settle_lost_nonce(self, batch: Batch, mined: dict[Role, int], now: datetime) -> int:
        """A mined transaction has this batch's nonce. Ours, or a stranger's who holds the key: then sign anew.

        The contract does each number, operation and job once, so bytes that surface later can only revert.
        """
        if any(self.chain.find_receipt(tx.hash) for tx in batch.transactions.all()):
            return 0  # the indexer will read it
        last = batch.transactions.order_by("-attempt")[0]
        if last.broadcast_at and now - last.broadcast_at < timedelta(seconds=self.pace.resend_s):
            return 0  # a node may know the nonce before the receipt
        raise_alarm("nonce-taken", f"{batch.role} {batch.nonce}", f"batch {batch.pk} is signed anew", now)
        fee = self.chain.suggest_fee()
        with transaction.atomic():
            batch.nonce = next_nonce(signer(batch), mined[signer(batch)])
            Batch.objects.filter(pk=batch.pk).update(nonce=batch.nonce)
            tx = sign(self.chain, batch, fee, batch.nonce, now)
        return self.broadcast(batch, tx, now)

    def fill_gaps(self, waiting: list[Batch], mined: dict[Role, int], now: datetime) -> int:
        """Sends something under a nonce that the node waits for and no batch has any more.

        That happens when a stranger's transaction was taken back by a reorganisation. The bytes first signed for that
        nonce are sent, or the lowest waiting batch is signed for it too: whichever comes second only reverts, and a
        batch that succeeded once has succeeded.
        """
        sent = 0
        for role, count in mined.items():
            batch = next((row for row in waiting if row.role == role and (row.nonce or 0) >= count), None)
            if batch is None or batch.nonce == count or batch.nonce is None:
                continue
            tx = (
                ChainTx.objects.filter(batch__role=role, nonce=count)
                .select_related("batch")
                .order_by("-pk")
                .first()
            )
            tx = tx or sign(self.chain, batch, self.chain.suggest_fee(), count, now)
            sent += self.broadcast(tx.batch, tx, now)
            mined[role] = self.chain.mined_nonce(role)
        return sent


def waiting_batches(mined: dict[Role, int], limit: int) -> list[Batch]:
    """Returns the batches that the node does not count as mined, or whose receipt was not read yet, in order."""
    lost = Q()
    for role, count in mined.items():
        lost |= Q(role=role, nonce__gte=count)
    return list(Batch.objects.filter(lost | Q(nonce=None) | unread()).order_by("id")[:limit])


def unread() -> Q:
    return Q(status__in=[Batch.Status.SEALED, Batch.Status.SENT], mined_number=None)


def signer(batch: Batch) -> Role:
    return SIGNER[type(decode(batch.call))]


def sign_first(chain: Chain, batch: Batch, mined: int, now: datetime) -> bool:
    """Gives a batch its nonce and its first bytes, in one transaction: there is no nonce without bytes.

    False when another process has done so or has taken the nonce.
    """
    fee = chain.suggest_fee()
    try:
        with transaction.atomic():
            batch.nonce = next_nonce(signer(batch), mined)
            if not Batch.objects.filter(pk=batch.pk, nonce=None).update(nonce=batch.nonce):
                return False
            sign(chain, batch, fee, batch.nonce, now)
    except IntegrityError:
        return False
    return True


def next_nonce(role: Role, mined: int) -> int:
    highest = Batch.objects.filter(role=role).aggregate(highest=Max("nonce"))["highest"]
    return mined if highest is None else max(mined, highest + 1)


def sign(chain: Chain, batch: Batch, fee: Fee, nonce: int, now: datetime) -> ChainTx:
    signed = chain.sign(decode(batch.call), role=signer(batch), nonce=nonce, fee=fee)
    return ChainTx.objects.create(
        batch=batch,
        attempt=batch.transactions.count() + 1,
        hash=signed.hash,
        raw=signed.raw,
        nonce=signed.nonce,
        fee={"max_per_gas": fee.max_per_gas, "priority_per_gas": fee.priority_per_gas},
        signed_at=now,
    )


def max_fee(one: Fee, other: Fee) -> Fee:
    return Fee(max(one.max_per_gas, other.max_per_gas), max(one.priority_per_gas, other.priority_per_gas))


@transaction.atomic
def mark_sent(batch: Batch, tx: ChainTx, now: datetime) -> None:
    ChainTx.objects.filter(pk=tx.pk).update(broadcast_at=now)
    if Batch.objects.filter(pk=batch.pk, status=Batch.Status.SEALED).update(status=Batch.Status.SENT):
        batch.items.filter(status=Status.SEALED).update(status=Status.SENT)


def raise_alarm(code: str, subject: str, detail: str, now: datetime) -> None:
    """Opens an alarm, once for each subject. Committed by itself: the caller may be about to raise."""
    log.error("%s: %s: %s", code, subject, detail)
    try:
        Alarm.objects.get_or_create(
            code=code,
            subject=subject[:120],
            closed_at=None,
            defaults={"detail": detail[:500], "opened_at": now},
        )
    except IntegrityError:
        log.info("the alarm %s %s is open already", code, subject)


def close_alarms(waiting: list[Batch], now: datetime) -> None:
    """A batch that no longer waits was taken after all."""
    if not Alarm.objects.filter(code="tx-rejected", closed_at=None).exists():
        return
    subjects = [f"batch {batch.pk}" for batch in waiting]
    Alarm.objects.filter(code="tx-rejected", closed_at=None).exclude(subject__in=subjects).update(
        closed_at=now
    )


@transaction.atomic
def seal(now: datetime, pace: Pace, *, first_number: int = 1) -> list[Batch]:
    """Turns queued items into batches: from here on their order, numbers and calls are fixed."""
    items = list(
        OutboxItem.objects.select_for_update(of=("self",))
        .filter(status=Status.QUEUED)
        .select_related("user", "job")
        .order_by("id")[: pace.queue]
    )
    queue = [
        Queued(item.pk, item.kind == OutboxItem.Kind.REWARD, (now - item.created_at).total_seconds())
        for item in items
    ]
    by_id = {item.pk: item for item in items}
    plan = plan_batches(queue, max_age_s=pace.max_age_s)
    return [seal_batch([by_id[pk] for pk in ids], now, first_number) for ids in plan]


def seal_batch(items: list[OutboxItem], now: datetime, first_number: int) -> Batch:
    head = items[0]
    first = number_items(items, first_number) if head.kind == OutboxItem.Kind.REWARD else None
    refs = [ref for ref, _ in head.detail.get("payouts", [])] if head.kind == OutboxItem.Kind.PAY else []
    accounts = dict(Owner.objects.filter(ref__in=refs).values_list("ref", "chain_id"))
    call = call_of(items, accounts)
    batch = Batch.objects.create(
        kind=head.kind,
        role=SIGNER[type(call)],
        first=first,
        count=len(items),
        call=encode(call),
        sealed_at=now,
    )
    for item in items:
        item.batch, item.status = batch, Status.SEALED
    OutboxItem.objects.bulk_update(items, ["batch", "status", "number"], batch_size=300)
    return batch


def number_items(items: list[OutboxItem], first_number: int) -> int:
    """Gives rewards the next numbers in sequence; a number is never given twice, not even after a revert."""
    highest = OutboxItem.objects.aggregate(highest=Max("number"))["highest"]
    first = first_number if highest is None else highest + 1
    for offset, item in enumerate(items):
        item.number = first + offset
    return first
