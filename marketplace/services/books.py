"""The ledger's door as the marketplace uses it: its refusals become MarketErrors, its wait for a chain becomes a retry.

Nothing here holds a price or a rule; amounts are nano.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ledger import errors as ledger_errors
from marketplace.errors import BudgetShort, Conflict, FundsShort, InvalidInput, KeyReused, Unavailable
from marketplace.rules.money import format_hyd


@contextmanager
def translated() -> Iterator[None]:
    """Raises: BudgetShort, FundsShort, KeyReused, Conflict or Unavailable in place of ledger.errors."""
    try:
        yield
    except ledger_errors.BudgetExhausted as error:
        message = f"The campaign's budget has {format_hyd(error.remaining)} HYD left, less than this reward."
        raise BudgetShort(message, remaining=error.remaining, asked=error.asked) from error
    except ledger_errors.InsufficientTokens as error:
        message = (
            f"You have {format_hyd(error.available)} HYD available, and asked for {format_hyd(error.asked)}."
        )
        raise FundsShort(message, had=error.available, asked=error.asked) from error
    except ledger_errors.InsufficientCredits as error:
        message = f"You have {format_hyd(error.credits)} credits, and asked for {format_hyd(error.asked)}."
        raise FundsShort(message, had=error.credits, asked=error.asked, field="credit_limit_nano") from error
    except ledger_errors.KeyReused as error:
        raise KeyReused from error
    except ledger_errors.BadInput as error:
        raise InvalidInput(str(error), fields={"amount_nano": error.expected}) from error
    except ledger_errors.ChainError as error:
        raise Unavailable("The ledger cannot be reached at the moment; try again.") from error
    except ledger_errors.EscrowClosed as error:
        raise Conflict(f"The job's credits are {error.status}.", code="escrow_closed") from error
