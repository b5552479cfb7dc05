"""Calls of the contract as JSON, as batches store them, and the events that a call must leave behind. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ledger.chain import port
from ledger.errors import ChainMismatch

CALLS = {call.__name__: call for call in port.SIGNER}
Logged = tuple[str, Mapping]
"""(event name, its arguments as JSON)."""


def encode(call: port.Call) -> dict:
    return {"name": type(call).__name__, **{name: to_json(value) for name, value in asdict(call).items()}}


def decode(body: Mapping) -> port.Call:
    """Returns the call that was sealed. Raises: ChainMismatch when a stored call cannot be read, never repaired."""
    try:
        fields = {name: from_json(value) for name, value in body.items() if name != "name"}
        return CALLS[body["name"]](**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise ChainMismatch("A sealed batch cannot be read", f"{body.get('name')}: {error}") from error


def to_json(value: object) -> object:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return [to_json(part) for part in value] if isinstance(value, list | tuple) else value


def from_json(value: object) -> object:
    if isinstance(value, str):
        return bytes.fromhex(value.removeprefix("0x"))
    return tuple(from_json(part) for part in value) if isinstance(value, list) else value


def expected_events(call: port.Call) -> list[Logged]:
    """Returns what a successful transaction with this call must log, in order, with the arguments the call fixes."""
    match call:
        case port.RecordRewards(first, accounts, amounts, root):
            rows = [
                event("RewardRecorded", number=first + i, account=account, amount=amount)
                for i, (account, amount) in enumerate(zip(accounts, amounts, strict=True))
            ]
            return [*rows, event("BatchRecorded", first=first, count=len(accounts), evidenceRoot=root)]
        case port.Unlock(account, amount, op_id):
            return [event("Unlocked", account=account, amount=amount, opId=op_id)]
        case port.Lock(account, job, maximum):
            return [event("Locked", account=account, job=job, maximum=maximum)]
        case port.Settle(job, used):
            return [event("Settled", job=job, used=used)]
        case port.PayWorkers(job, first, accounts, amounts):
            return [
                event("WorkerPaid", job=job, number=first + i, account=account, amount=amount)
                for i, (account, amount) in enumerate(zip(accounts, amounts, strict=True))
            ]
        case port.Release(job):
            return [event("Released", job=job)]


def event(name: str, **args: object) -> Logged:
    return name, {key: to_json(value) for key, value in args.items()}


def find_difference(call: port.Call, logged: Sequence[Logged]) -> str | None:
    """Returns in words how a transaction's events differ from what its call says; None when they agree."""
    expected = expected_events(call)
    if [name for name, _ in expected] != [name for name, _ in logged]:
        return f"expected {len(expected)} events, found {len(logged)}: {sorted({name for name, _ in logged})}"
    for (name, ours), (_, theirs) in zip(expected, logged, strict=True):
        for key, value in ours.items():
            if theirs.get(key) != value:
                return f"{name}.{key} is {theirs.get(key)!r}, the books say {value!r}"
    return None
