"""What can go wrong in the ledger, who can put it right, and how.

LedgerError
├── KeyReused              fix the input: this idempotency key was used for another request
├── BadInput               fix the input: an amount or another field is out of its range
├── BudgetExhausted        fix the input: the campaign's budget does not cover the reward
├── InsufficientTokens     fix the input: less is available than was asked to be unlocked
├── InsufficientCredits    fix the input: fewer credits are spendable than the lock asks for
├── EscrowClosed           fix the input: the job's escrow does not allow this step now
├── UnknownReward          fix the input: no reward was reserved under this key
├── UnbalancedPosting      stop: our own mistake, postings that do not sum to zero
└── ChainError
    ├── ChainUnavailable       try again: the node did not answer, the outcome is unknown
    ├── NonceTooLow            look again: the nonce was used by a mined transaction
    ├── ReplacementUnderpriced try again with a higher fee
    ├── TxRejected             stop: the node refuses these bytes and always will
    ├── ChainMismatch          stop: the chain says something that the books cannot explain
    ├── WrongChain             stop: another chain id than the settings', or no such contract there
    ├── KeyMissing             stop: this process holds no private key file for the role
    ├── BadCall                fix the input: no contract could take such a call
    └── NodeFailed             stop: the embedded node cannot start, or cannot save its state

No Django and no web3 in here: ledger.chain imports this file too.
"""


class LedgerError(Exception):
    """Root of everything the ledger raises on purpose; `retry` says whether the same call can succeed later."""

    retry = False


class KeyReused(LedgerError):
    """The key is known with another body. Send the first body again, or use a new key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"The key {key!r} was already used for a different request; use a new key.")


class BadInput(LedgerError):
    """A field of a request is out of its range: an amount that is not a whole number of nano, an empty key."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name, self.value, self.expected = name, value, expected
        super().__init__(f"{name} is {value!r}; expected {expected}.")


class BudgetExhausted(LedgerError):
    """The campaign's unreserved budget is smaller than the reward: fund the campaign or offer less."""

    def __init__(self, asked: int, remaining: int) -> None:
        self.asked, self.remaining = asked, remaining
        super().__init__(f"The reward of {asked} nano exceeds the remaining budget of {remaining} nano.")


class InsufficientTokens(LedgerError):
    """Less is available than was asked to be unlocked: ask for less, or wait for rewards to settle."""

    def __init__(self, available: int, asked: int) -> None:
        self.available, self.asked = available, asked
        super().__init__(f"{asked} nano were asked to be unlocked, {available} nano are available.")


class InsufficientCredits(LedgerError):
    """Fewer credits are spendable than the lock asks for: unlock more, or lower the limit."""

    def __init__(self, credits: int, asked: int) -> None:
        self.credits, self.asked = credits, asked
        super().__init__(f"{asked} nano credits were asked for, {credits} nano credits are spendable.")


class EscrowClosed(LedgerError):
    """The escrow's state does not allow the step; a job is locked once and settled or released once."""

    def __init__(self, job_ref: str, status: str, step: str) -> None:
        self.job_ref, self.status, self.step = job_ref, status, step
        super().__init__(f"The escrow of {job_ref} is {status}; it cannot {step}.")


class UnknownReward(LedgerError):
    """No reward was reserved under this key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"No reward was reserved under the key {key!r}.")


class UnbalancedPosting(LedgerError):
    """Postings that do not sum to zero, or name an account twice: a mistake in the ledger's own code."""

    def __init__(self, event: str, total: int) -> None:
        self.event, self.total = event, total
        super().__init__(f"The postings of {event} sum to {total} nano instead of 0.")


class ChainError(LedgerError):
    """Something between us and the chain."""


class ChainUnavailable(ChainError):
    """The node did not answer. What was sent may or may not have arrived: look it up, send the same bytes again."""

    retry = True

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The chain node did not answer: {reason}")


class NonceTooLow(ChainError):
    """A mined transaction used this nonce: ours, which find_receipt will tell, or another holder of the key."""

    def __init__(self, tx_hash: str = "") -> None:
        self.tx_hash = tx_hash
        super().__init__(f"The nonce of transaction {tx_hash or '?'} was used already.")


class ReplacementUnderpriced(ChainError):
    """Another transaction waits under this nonce with too high a fee to be replaced: raise the fee."""

    retry = True

    def __init__(self, tx_hash: str = "") -> None:
        self.tx_hash = tx_hash
        super().__init__(f"Transaction {tx_hash or '?'} offers too little to replace the one that waits.")


class TxRejected(ChainError):
    """The node refuses these bytes: funds, gas limit or chain id are wrong. An operator has to look."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The node refuses the transaction: {reason}")


class ChainMismatch(ChainError):
    """The chain reports something the books cannot explain. Nothing is posted until an operator has looked."""

    def __init__(self, what: str, detail: str) -> None:
        self.what, self.detail = what, detail
        super().__init__(f"{what}: {detail}")


class WrongChain(ChainError):
    """The node serves another chain than the settings say, or the contract is not there: correct the URL, or deploy."""

    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(
            f"Expected {expected}, found {found}; check the chain's URL, or deploy the contract there."
        )


class KeyMissing(ChainError):
    """The process has no usable key file for a role. Web processes never have one; sender and deployment do."""

    def __init__(self, role: str, path: str, why: str) -> None:
        self.role, self.path, self.why = role, path, why
        super().__init__(f"No key for the role {role} at {path}: {why}.")


class BadCall(ChainError):
    """A call that no contract could take: an id of the wrong length, a negative amount, lists of unequal size."""

    def __init__(self, call: str, problem: str) -> None:
        self.call, self.problem = call, problem
        super().__init__(f"{call}: {problem}.")


class NodeFailed(ChainError):
    """The embedded node cannot start, or cannot save its state; the message says what to do."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)
