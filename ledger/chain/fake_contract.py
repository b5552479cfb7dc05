"""HydraLedger's rules once more, in Python and in memory, for FakeChain: same checks, same error names, same events.

The conformance suite runs both and compares. Binding and the ERC-20's own transfers are left to the real contract.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.chain.port import (
    MAX_BATCH,
    SIGNER,
    AccountState,
    Call,
    Lock,
    PayWorkers,
    RecordRewards,
    Release,
    Role,
    Settle,
    Totals,
    Unlock,
)

EventArgs = dict[str, int | bytes | str]
Emitted = tuple[str, EventArgs]
ZERO_ID = bytes(32)


class Reverted(Exception):
    """The contract refuses; `reason` is the name of its custom error. Internal to the fake: it ends up in a receipt."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass
class FakeAccount:
    available: int = 0
    credits: int = 0


@dataclass
class FakeJob:
    account: bytes
    maximum: int
    status: str = "locked"
    used: int = 0
    paid: int = 0
    payouts: int = 0


@dataclass
class FakeContract:
    """State of the contract. `apply` either takes a call whole or raises Reverted and leaves everything as it was."""

    window_cap: int
    window_s: int
    accounts: dict[bytes, FakeAccount] = field(default_factory=dict)
    jobs: dict[bytes, FakeJob] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    operations: set[bytes] = field(default_factory=set)
    recorded: int = 0
    next_number: int = 0
    used: int = 0
    window: int = -1
    in_window: int = 0

    def apply(self, call: Call, *, role: Role, timestamp: int) -> list[Emitted]:
        if SIGNER[type(call)] != role:
            raise Reverted("AccessControlUnauthorizedAccount")
        match call:
            case RecordRewards():
                return self.record(call, timestamp)
            case Unlock():
                return self.unlock(call)
            case Lock():
                return self.lock(call)
            case Settle():
                return self.settle(call)
            case PayWorkers():
                return self.pay_workers(call)
            case Release():
                return self.release(call)

    def record(self, call: RecordRewards, timestamp: int) -> list[Emitted]:
        total = check_items(call.accounts, call.amounts)
        batch = range(call.first, call.first + len(call.accounts))
        check(self.numbers.isdisjoint(batch), "NumberAlreadyRecorded")
        window = timestamp // self.window_s
        in_window = total + (self.in_window if window == self.window else 0)
        check(in_window <= self.window_cap, "WindowCapExceeded")
        self.window, self.in_window = window, in_window
        self.numbers.update(batch)
        self.recorded += total
        self.next_number = max(self.next_number, batch.stop)
        emitted: list[Emitted] = []
        for number, account, amount in zip(batch, call.accounts, call.amounts, strict=True):
            self.at(account).available += amount
            emitted.append(("RewardRecorded", {"number": number, "account": account, "amount": amount}))
        batch_args: EventArgs = {"first": call.first, "count": len(batch), "evidenceRoot": call.evidence_root}
        return [*emitted, ("BatchRecorded", batch_args)]

    def unlock(self, call: Unlock) -> list[Emitted]:
        check(call.amount > 0, "ZeroAmount")
        check(call.op_id not in self.operations, "OperationAlreadyDone")
        account = self.at(call.account)
        check(call.amount <= account.available, "InsufficientAvailable")
        self.operations.add(call.op_id)
        account.available -= call.amount
        account.credits += call.amount
        return [("Unlocked", {"account": call.account, "amount": call.amount, "opId": call.op_id})]

    def lock(self, call: Lock) -> list[Emitted]:
        check(call.maximum > 0, "ZeroAmount")
        check(call.job not in self.jobs, "JobAlreadyKnown")
        account = self.at(call.account)
        check(call.maximum <= account.credits, "InsufficientCredits")
        account.credits -= call.maximum
        self.jobs[call.job] = FakeJob(call.account, call.maximum)
        return [("Locked", {"account": call.account, "job": call.job, "maximum": call.maximum})]

    def settle(self, call: Settle) -> list[Emitted]:
        job = self.fetch_job(call.job, "locked", "JobNotLocked")
        check(call.used <= job.maximum, "UsedExceedsMaximum")
        job.status, job.used = "settled", call.used
        self.used += call.used
        returned = job.maximum - call.used
        self.at(job.account).credits += returned
        return [
            ("Settled", {"job": call.job, "account": job.account, "used": call.used, "returned": returned})
        ]

    def pay_workers(self, call: PayWorkers) -> list[Emitted]:
        total = check_items(call.accounts, call.amounts)
        job = self.fetch_job(call.job, "settled", "JobNotSettled")
        check(call.first == job.payouts, "PayoutOutOfOrder")
        check(job.paid + total <= job.used, "PayoutsExceedUsed")
        job.paid += total
        job.payouts += len(call.accounts)
        emitted: list[Emitted] = []
        for i, (account, amount) in enumerate(zip(call.accounts, call.amounts, strict=True)):
            self.at(account).available += amount
            args: EventArgs = {
                "job": call.job,
                "number": call.first + i,
                "account": account,
                "amount": amount,
            }
            emitted.append(("WorkerPaid", args))
        return emitted

    def release(self, call: Release) -> list[Emitted]:
        job = self.fetch_job(call.job, "locked", "JobNotLocked")
        job.status = "released"
        self.at(job.account).credits += job.maximum
        return [("Released", {"job": call.job, "account": job.account, "amount": job.maximum})]

    def at(self, account: bytes) -> FakeAccount:
        return self.accounts.setdefault(account, FakeAccount())

    def fetch_job(self, job: bytes, status: str, otherwise: str) -> FakeJob:
        found = self.jobs.get(job)
        if found is None or found.status != status:
            raise Reverted(otherwise)
        return found

    def account_state(self, account: bytes) -> AccountState:
        found = self.accounts.get(account, FakeAccount())
        return AccountState(found.available, found.credits)

    def totals(self) -> Totals:
        paid = sum(job.paid for job in self.jobs.values())
        return Totals(
            recorded=self.recorded,
            available=sum(account.available for account in self.accounts.values()),
            credits=sum(account.credits for account in self.accounts.values()),
            locked=sum(job.maximum for job in self.jobs.values() if job.status == "locked"),
            spent=self.used - paid,
            supply=0,
            used=self.used,
            paid=paid,
            next_number=self.next_number,
        )


def check(holds: bool, reason: str) -> None:
    if not holds:
        raise Reverted(reason)


def check_items(accounts: Sequence[bytes], amounts: Sequence[int]) -> int:
    """Judges a batch's items as the contract does and returns their sum."""
    check(0 < len(accounts) <= MAX_BATCH, "BadBatchSize")
    check(ZERO_ID not in accounts, "ZeroAccount")
    check(0 not in amounts, "ZeroAmount")
    return sum(amounts)
