"""Reads the chain into the books: events by windows, outcomes of our transactions, finality, reorganisations.

Every step may be killed anywhere and run again, and two of them may run at once: rows are unique by (chain, block hash,
transaction, log index), the cursor moves by compare-and-set, and an outcome is posted by whoever turns the batch first.
An outcome is posted when its block is final, and taken back by its inverse should the block vanish all the same.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from ledger import wallets
from ledger.chain.port import Chain, ChainEvent, Receipt
from ledger.models import Batch, ChainEventRow, Cursor, IndexedBlock
from ledger.outcome import conclude, undo
from ledger.reorg import final_height, find_fork, next_window
from ledger.sealed_calls import decode, find_difference, to_json
from ledger.sender import raise_alarm, signer

log = logging.getLogger(__name__)
SIGN_OF_LIFE = timedelta(seconds=2)
KEEP_BLOCKS = (
    256  # hashes kept below the final block, to measure a deep reorganisation without asking for each block
)


@dataclass
class Indexer:
    """`confirmations`: 0 on the embedded node, whose checkpoint decides; `start` is the block of the deployment."""

    chain: Chain
    confirmations: int = 0
    start: int = 0
    window: int = 500

    @property
    def name(self) -> str:
        return f"{self.chain.chain_id}:{self.chain.contract}"

    def step(self, now: datetime) -> int:
        """Reads up to one window and posts what became final; returns how many batches changed.

        Raises: ChainUnavailable: nothing is half done, call again.
        """
        durable, head = self.chain.durable_height(), self.chain.head()
        cursor = self.fetch_cursor()
        changed = 0
        if not self.is_canonical(cursor):
            changed += self.rewind(cursor, now)
            cursor = self.fetch_cursor()
        cursor = self.read_window(cursor, head.number)
        self.read_receipts(cursor)
        final = min(final_height(head.number, durable, self.confirmations), cursor.number)
        if not self.is_canonical(cursor):  # asked after `durable`: what is below both was final then
            return changed
        changed += self.conclude_final(cursor, final, now)
        self.note_progress(cursor, head.number, final, now)
        return changed

    def note_progress(self, cursor: Cursor, head: int, final: int, now: datetime) -> None:
        """An idle indexer writes every two seconds only: SQLite has one writer, and pages want it."""
        if (cursor.head, cursor.final) != (head, final):
            self.forget_blocks(final)
        elif cursor.head_at and timedelta(0) <= now - cursor.head_at < SIGN_OF_LIFE:
            return
        Cursor.objects.filter(pk=cursor.pk).update(head=head, final=final, head_at=now)

    def fetch_cursor(self) -> Cursor:
        cursor, _ = Cursor.objects.get_or_create(chain=self.name, defaults={"number": self.start - 1})
        return cursor

    def is_canonical(self, cursor: Cursor) -> bool:
        return not cursor.hash or self.chain.block_hash(cursor.number) == cursor.hash

    def read_window(self, cursor: Cursor, head: int) -> Cursor:
        """Returns the cursor after the next window; where it was when the chain changed meanwhile."""
        window = next_window(cursor.number, head, self.window)
        if window is None:
            return cursor
        first, last = window
        last_hash = self.chain.block_hash(last)
        events = self.chain.events(first, last)
        is_steady = last_hash and self.chain.block_hash(last) == last_hash and self.is_canonical(cursor)
        return self.store(cursor, events, (last, last_hash)) if is_steady and last_hash else cursor

    @transaction.atomic
    def store(self, cursor: Cursor, events: Sequence[ChainEvent], last: tuple[int, str]) -> Cursor:
        moved = Cursor.objects.filter(pk=cursor.pk, number=cursor.number, hash=cursor.hash)
        if not moved.update(number=last[0], hash=last[1]):
            log.info("another indexer moved the cursor of %s", self.name)
            return self.fetch_cursor()
        rows = [self.row_of(event) for event in events]
        ChainEventRow.objects.bulk_create(rows, ignore_conflicts=True, batch_size=200)
        blocks = {(event.block_number, event.block_hash) for event in events}
        ChainEventRow.objects.filter(chain=self.name, block_hash__in={block for _, block in blocks}).update(
            canonical=True
        )
        self.keep_block(*last, matters=False)
        for number, block in blocks:
            self.keep_block(number, block, matters=True)
        cursor.number, cursor.hash = last
        return cursor

    def row_of(self, event: ChainEvent) -> ChainEventRow:
        return ChainEventRow(
            chain=self.name,
            block_number=event.block_number,
            block_hash=event.block_hash,
            tx_hash=event.tx_hash,
            log_index=event.log_index,
            name=event.name,
            args={key: to_json(value) for key, value in event.args.items()},
        )

    def keep_block(self, number: int, block: str, *, matters: bool) -> None:
        row, is_new = IndexedBlock.objects.get_or_create(
            chain=self.name, number=number, defaults={"hash": block, "matters": matters}
        )
        if not is_new and (row.hash != block or matters > row.matters):
            IndexedBlock.objects.filter(pk=row.pk).update(hash=block, matters=matters or row.matters)

    def forget_blocks(self, final: int) -> None:
        IndexedBlock.objects.filter(chain=self.name, matters=False, number__lt=final - KEEP_BLOCKS).delete()

    def read_receipts(self, cursor: Cursor) -> None:
        """Notes where the transactions on their way were mined, as far as the cursor has come."""
        for batch in (
            Batch.objects.filter(status__in=["sealed", "sent"]).exclude(nonce=None).exclude(mined_ok=True)
        ):
            receipt = self.find_outcome(batch)
            if receipt is None or receipt.block_number > cursor.number:
                continue
            is_there = self.chain.block_hash(receipt.block_number) == receipt.block_hash
            if is_there and self.is_canonical(cursor):  # in this order: both belong to one chain
                self.note(batch, receipt)

    def find_outcome(self, batch: Batch) -> Receipt | None:
        """Returns the receipt that decides: a success, or a revert once no other bytes of the batch can follow.

        Attempts under one nonce exclude each other; attempts under several can follow each other.
        """
        transactions = list(batch.transactions.order_by("attempt"))
        receipts = [receipt for tx in transactions if (receipt := self.chain.find_receipt(tx.hash))]
        success = next((receipt for receipt in receipts if receipt.status), None)
        if success or not receipts:
            return success
        highest = max(tx.nonce for tx in transactions)
        return receipts[-1] if highest < self.chain.mined_nonce(signer(batch)) else None

    @transaction.atomic
    def note(self, batch: Batch, receipt: Receipt) -> None:
        Batch.objects.filter(pk=batch.pk, status__in=["sealed", "sent"]).update(
            status=Batch.Status.SENT,
            mined_number=receipt.block_number,
            mined_hash=receipt.block_hash,
            mined_tx=receipt.tx_hash,
            mined_ok=receipt.status,
            revert_reason=(receipt.revert_reason or "")[:300],
        )
        batch.items.filter(status="sealed").update(status="sent")
        self.keep_block(receipt.block_number, receipt.block_hash, matters=True)

    def conclude_final(self, cursor: Cursor, final: int, now: datetime) -> int:
        changed = 0
        for batch in Batch.objects.filter(status=Batch.Status.SENT, mined_number__lte=final).order_by("id"):
            with self.in_order(cursor):
                if self.is_as_sealed(batch, now) and conclude(batch, now):
                    changed += 1
        if wallets.waiting(self.name, final).exists():
            with self.in_order(cursor):
                changed += wallets.post_final(self.name, final, now)
        return changed

    def in_order(self, cursor: Cursor) -> transaction.Atomic:
        """A transaction under the cursor's lock, so that news gets its ids in the order of its commits."""
        return Locked(cursor.pk)

    def is_as_sealed(self, batch: Batch, now: datetime) -> bool:
        """Compares what the contract logged with what was sealed; a difference is an alarm and posts nothing."""
        if not batch.mined_ok:
            return True
        rows = ChainEventRow.objects.filter(
            chain=self.name, block_hash=batch.mined_hash, tx_hash=batch.mined_tx, canonical=True
        ).order_by("log_index")
        difference = find_difference(decode(batch.call), [(row.name, row.args) for row in rows])
        if difference:
            raise_alarm("event-mismatch", f"batch {batch.pk}", difference, now)
        return difference is None

    def rewind(self, cursor: Cursor, now: datetime) -> int:
        """Goes back to the highest block that both chains share, and takes back what was read and posted above it."""
        known = list(
            IndexedBlock.objects.filter(chain=self.name).order_by("number").values_list("number", "hash")
        )
        fork = find_fork(known, self.chain.block_hash)
        number, block = (self.start - 1, "") if fork is None else (fork, dict(known)[fork])
        log.warning("%s was reorganised: back from block %s to %s", self.name, cursor.number, number)
        with self.in_order(cursor):
            moved = Cursor.objects.filter(pk=cursor.pk, number=cursor.number, hash=cursor.hash)
            if not moved.update(number=number, hash=block, final=min(cursor.final, number)):
                return 0
            return self.take_back(number, now)

    def take_back(self, number: int, now: datetime) -> int:
        IndexedBlock.objects.filter(chain=self.name, number__gt=number).delete()
        changed = wallets.undo_above(self.name, number, now)
        for batch in Batch.objects.filter(mined_number__gt=number).order_by("-id"):
            if batch.status != Batch.Status.SENT:
                changed += undo(batch, now)
            Batch.objects.filter(pk=batch.pk).update(
                mined_number=None, mined_hash="", mined_tx="", mined_ok=None, revert_reason=""
            )
        ChainEventRow.objects.filter(chain=self.name, block_number__gt=number).update(canonical=False)
        return changed


class Locked(transaction.Atomic):
    """A transaction that holds a cursor's row."""

    def __init__(self, cursor_pk: int) -> None:
        super().__init__(using=None, savepoint=True, durable=False)
        self.cursor_pk = cursor_pk

    def __enter__(self) -> None:
        super().__enter__()
        Cursor.objects.select_for_update().get(pk=self.cursor_pk)
