"""A person's money and the ledger's health, as the ledger's door tells them. Amounts in nano."""

from ledger import service as ledger
from ledger.service import Balances, ChainStatus, LedgerTotals, StatementLine
from marketplace.models import User


def balances(user: User) -> Balances:
    return ledger.balances(user.ledger_ref)


def statement(
    user: User, *, kind: str | None = None, limit: int = 200, before: int | None = None
) -> list[StatementLine]:
    """Newest first; `before` is the id of the last line of the page before."""
    return ledger.statement(user.ledger_ref, kind=kind, limit=limit, before=before)


def chain_status() -> ChainStatus:
    return ledger.network_status()


def totals() -> LedgerTotals:
    return ledger.totals()
