"""The ledger's tables: the books, the outbox that goes to the chain, and what was read back from it."""

from ledger.models.books import Account, Entry, Owner, Posting, Seal
from ledger.models.chain import Alarm, ChainEventRow, Cursor, IndexedBlock, SenderLease, Settlement
from ledger.models.outbox import Batch, ChainTx, Escrow, Offset, OutboxItem

__all__ = [
    "Account",
    "Alarm",
    "Batch",
    "ChainEventRow",
    "ChainTx",
    "Cursor",
    "Entry",
    "Escrow",
    "IndexedBlock",
    "Offset",
    "OutboxItem",
    "Owner",
    "Posting",
    "Seal",
    "SenderLease",
    "Settlement",
]
