"""What can be said of a call without any chain: whether it could be encoded at all, and how much gas it may use.

Pure. Both implementations of the port refuse the same calls with the same words.
"""

from collections.abc import Sequence

from ledger.chain.port import NANO_IN_WEI, Call, Lock, PayWorkers, RecordRewards, Release, Settle, Unlock
from ledger.errors import BadCall

ID_BYTES = 32
AMOUNT_LIMIT = 2**128 // NANO_IN_WEI  # the contract keeps balances in 128 bits of wei
NUMBER_LIMIT = 2**63  # reward and payout numbers also live in a database's signed 64 bits

# Measured (docs/ledger-contract.md), with about a third on top. Unused gas is not charged.
FIXED_GAS = 250_000
ITEM_GAS = 40_000
TX_GAS_CAP = 16_777_216  # EIP-7825


def gas_limit(call: Call) -> int:
    """A limit that depends on the call's size alone, so that signing needs no node."""
    items = len(call.accounts) if isinstance(call, RecordRewards | PayWorkers) else 0
    return min(FIXED_GAS + ITEM_GAS * items, TX_GAS_CAP)


def check_call(call: Call) -> None:
    """Refuses what could never be encoded; what the contract itself judges is left to it. Raises BadCall."""
    match call:
        case RecordRewards(first, accounts, amounts, evidence_root):
            check_list(call, first, accounts, amounts)
            check_id(call, "evidence_root", evidence_root)
        case PayWorkers(job, first, accounts, amounts):
            check_id(call, "job", job)
            check_list(call, first, accounts, amounts)
        case Unlock(account, amount, op_id):
            check_id(call, "account", account)
            check_id(call, "op_id", op_id)
            check_amount(call, "amount", amount)
        case Lock(account, job, maximum):
            check_id(call, "account", account)
            check_id(call, "job", job)
            check_amount(call, "maximum", maximum)
        case Settle(job, used):
            check_id(call, "job", job)
            check_amount(call, "used", used)
        case Release(job):
            check_id(call, "job", job)


def check_list(call: Call, first: int, accounts: Sequence[bytes], amounts: Sequence[int]) -> None:
    if len(accounts) != len(amounts):
        raise BadCall(type(call).__name__, f"{len(accounts)} accounts but {len(amounts)} amounts")
    if not 0 <= first < NUMBER_LIMIT - len(accounts):
        raise BadCall(type(call).__name__, f"first is {first}; numbers go from 0 up to 2^63")
    for i, (account, amount) in enumerate(zip(accounts, amounts, strict=True)):
        check_id(call, f"accounts[{i}]", account)
        check_amount(call, f"amounts[{i}]", amount)


def check_id(call: Call, name: str, value: bytes) -> None:
    if not isinstance(value, bytes) or len(value) != ID_BYTES:
        raise BadCall(type(call).__name__, f"{name} is {value!r}; expected {ID_BYTES} bytes")


def check_amount(call: Call, name: str, value: int) -> None:
    if not isinstance(value, int) or not 0 <= value < AMOUNT_LIMIT:
        raise BadCall(type(call).__name__, f"{name} is {value!r}; expected nano from 0 up to {AMOUNT_LIMIT}")
