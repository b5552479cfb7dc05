"""Between the port's data and the contract's bytes: calls to calldata, logs to events, revert data to error names; nano to wei and back.

Needs the artifact's ABI and eth_abi, no node.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from ledger.chain.calls import check_call
from ledger.chain.deployment import load_artifact
from ledger.chain.port import (
    EVENT_ARGS,
    NANO_IN_WEI,
    Call,
    Lock,
    PayWorkers,
    RecordRewards,
    Release,
    Settle,
    Unlock,
)
from ledger.errors import ChainMismatch

Entry: TypeAlias = Mapping[str, Any]
AMOUNTS = frozenset({"amount", "maximum", "used", "returned"})  # arguments of events that are money
ERROR_STRING = keccak(text="Error(string)")[:4]
PANIC = keccak(text="Panic(uint256)")[:4]


def encode_call(call: Call) -> bytes:
    """Calldata of a call. Raises BadCall."""
    check_call(call)
    match call:
        case RecordRewards(first, accounts, amounts, evidence_root):
            return calldata("recordRewards", first, accounts, to_weis(amounts), evidence_root)
        case Unlock(account, amount, op_id):
            return calldata("unlock", account, amount * NANO_IN_WEI, op_id)
        case Lock(account, job, maximum):
            return calldata("lock", account, job, maximum * NANO_IN_WEI)
        case Settle(job, used):
            return calldata("settle", job, used * NANO_IN_WEI)
        case PayWorkers(job, first, accounts, amounts):
            return calldata("payWorkers", job, first, accounts, to_weis(amounts))
        case Release(job):
            return calldata("release", job)


def calldata(function: str, *arguments: object) -> bytes:
    entry = entries("function")[function]
    return selector(entry) + encode(types(entry["inputs"]), arguments)


def decode_result(function: str, data: bytes) -> tuple[Any, ...]:
    """The values that a view function returned; a struct counts as one value."""
    return decode(types(entries("function")[function]["outputs"]), data)


def decode_event(topics: list[bytes], data: bytes) -> tuple[str, dict[str, int | bytes | str]] | None:
    """Name and arguments of one log, or None when it is not one of the ledger's events (EVENT_ARGS). Amounts in nano."""
    entry = events_by_topic().get(bytes(topics[0])) if topics else None
    if entry is None or entry["name"] not in EVENT_ARGS:
        return None
    indexed = [part for part in entry["inputs"] if part["indexed"]]
    plain = [part for part in entry["inputs"] if not part["indexed"]]
    values = {
        part["name"]: decode([part["type"]], topic)[0]
        for part, topic in zip(indexed, topics[1:], strict=True)
    }
    values |= dict(zip((part["name"] for part in plain), decode(types(plain), data), strict=True))
    return entry["name"], {name: to_port(name, values[name]) for name in EVENT_ARGS[entry["name"]]}


def to_port(name: str, value: Any) -> int | bytes | str:
    if name in AMOUNTS:
        return to_nano(value)
    return to_checksum_address(value) if name == "wallet" else value


def to_weis(amounts: tuple[int, ...]) -> list[int]:
    return [amount * NANO_IN_WEI for amount in amounts]


def to_nano(wei: int) -> int:
    """Exact, because the contract takes whole nano only. Raises ChainMismatch."""
    nano, rest = divmod(wei, NANO_IN_WEI)
    if rest:
        raise ChainMismatch("an amount on the chain", f"{wei} wei are not a whole number of nano")
    return nano


def revert_name(data: bytes) -> str:
    """Name of the error in revert data: a custom error's, the text of `require`, `Panic(0x11)`; "reverted" without data."""
    entry = errors_by_selector().get(data[:4])
    if entry is not None:
        return entry["name"]
    try:
        if data[:4] == ERROR_STRING:
            return decode(["string"], data[4:])[0]
        if data[:4] == PANIC:
            return f"Panic({decode(['uint256'], data[4:])[0]:#04x})"
    except DecodingError:
        return f"reverted with 0x{data.hex()}"
    return f"reverted with 0x{data.hex()}" if data else "reverted"


@cache
def entries(kind: str) -> dict[str, Entry]:
    return {entry["name"]: entry for entry in load_artifact().abi if entry["type"] == kind}


@cache
def events_by_topic() -> dict[bytes, Entry]:
    return {keccak(text=signature(entry)): entry for entry in entries("event").values()}


@cache
def errors_by_selector() -> dict[bytes, Entry]:
    return {selector(entry): entry for entry in entries("error").values()}


def selector(entry: Entry) -> bytes:
    return keccak(text=signature(entry))[:4]


def signature(entry: Entry) -> str:
    return f"{entry['name']}({','.join(types(entry['inputs']))})"


def types(parts: list[Entry]) -> list[str]:
    return [
        part["type"].replace("tuple", f"({','.join(types(part['components']))})", 1)
        if "components" in part
        else part["type"]
        for part in parts
    ]
