"""Everything the marketplace refuses, as one tree. The API and the pages show `code`, `message` and `fields`.

MarketError (status, code, message, fields, advice)
├── InvalidInput        400  fix the input   the fields say where and what
├── NotAllowed          403  stop            signed in, but this is not theirs to do
├── NotFound            404  stop            absent, or not theirs to see: the two look the same
├── Conflict            409  look again      somebody else was first, or the state does not allow it
│   ├── WrongState      409  look again      the thing is closed, completed, already decided …
│   ├── BudgetShort     409  ask the sponsor the campaign's budget does not cover the reward
│   └── FundsShort      409  fix the input   fewer tokens or credits than asked for
├── TooLarge            413  fix the input   a file or batch over a limit
├── KeyReused           422  fix the input   the same Idempotency-Key with another body
└── Unavailable         503  try again       the ledger, the broker or the database is busy
"""

from collections.abc import Mapping


class MarketError(Exception):
    """A refusal with its HTTP status. `advice`: "retry", "fix", "look" (reload and decide again) or "stop"."""

    status = 400
    code = "refused"
    advice = "fix"
    retry_after_s: int | None = None

    def __init__(
        self, message: str, *, fields: Mapping[str, str] | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fields: dict[str, list[str]] = {name: [said] for name, said in (fields or {}).items()}
        if code is not None:
            self.code = code


class InvalidInput(MarketError):
    """The input can be corrected: `fields` maps each place to what is wrong there, in one or more sentences."""

    code = "invalid"


class NotAllowed(MarketError):
    status = 403
    code = "forbidden"
    advice = "stop"


class NotFound(MarketError):
    status = 404
    code = "not_found"
    advice = "stop"

    def __init__(self, message: str = "There is no such thing, or it is not yours to see.") -> None:
        super().__init__(message)


class Conflict(MarketError):
    status = 409
    code = "conflict"
    advice = "look"


class WrongState(Conflict):
    code = "wrong_state"


class BudgetShort(Conflict):
    """`remaining`, `asked` in nano."""

    code = "budget_exhausted"
    advice = "stop"

    def __init__(self, message: str, *, remaining: int, asked: int) -> None:
        super().__init__(message)
        self.remaining, self.asked = remaining, asked


class FundsShort(Conflict):
    """`had`, `asked` in nano."""

    code = "insufficient_funds"
    advice = "fix"

    def __init__(self, message: str, *, had: int, asked: int, field: str = "amount_nano") -> None:
        super().__init__(message, fields={field: message})
        self.had, self.asked = had, asked


class TooLarge(MarketError):
    status = 413
    code = "too_large"


class KeyReused(MarketError):
    status = 422
    code = "key_reused"

    def __init__(self, message: str = "This Idempotency-Key was already used for another request.") -> None:
        super().__init__(message)


class Unavailable(MarketError):
    status = 503
    code = "unavailable"
    advice = "retry"
    retry_after_s = 2
