"""Calldata, events and errors against figures that others computed: selectors and topics as the compiler's ABI gives them."""

from typing import get_args

import pytest
from eth_abi import encode
from eth_utils.crypto import keccak

from ledger.chain import abi
from ledger.chain.port import EVENT_ARGS, NANO_IN_WEI, SIGNER, Call, PayWorkers, Settle, Totals
from ledger.errors import ChainMismatch

JOB, ADA = b"j" * 32, b"a" * 32


def test_amounts_go_out_in_wei() -> None:
    data = abi.encode_call(Settle(JOB, 3))
    assert data == keccak(text="settle(bytes32,uint256)")[:4] + JOB + (3 * NANO_IN_WEI).to_bytes(32, "big")


def test_lists_are_encoded_as_the_standard_says() -> None:
    data = abi.encode_call(PayWorkers(JOB, 2, (ADA,), (5,)))
    kinds = ["bytes32", "uint256", "bytes32[]", "uint256[]"]
    assert data[4:] == encode(kinds, [JOB, 2, [ADA], [5 * NANO_IN_WEI]])
    assert data[:4] == keccak(text="payWorkers(bytes32,uint256,bytes32[],uint256[])")[:4]


def test_every_event_of_the_port_is_in_the_contract_with_these_arguments() -> None:
    events = abi.entries("event")
    for name, arguments in EVENT_ARGS.items():
        assert tuple(part["name"] for part in events[name]["inputs"]) == arguments


def test_every_call_has_a_signer() -> None:
    assert set(SIGNER) == set(get_args(Call))


def test_the_sums_have_the_contracts_order() -> None:
    (struct,) = abi.entries("function")["totals"]["outputs"]
    assert [part["name"] for part in struct["components"]][:-1] == list(Totals.__dataclass_fields__)[:-1]


def test_other_peoples_logs_are_no_events_of_ours() -> None:
    assert (
        abi.decode_event([keccak(text="Transfer(address,address,uint256)"), bytes(32), bytes(32)], bytes(32))
        is None
    )
    assert abi.decode_event([], b"") is None


def test_a_fraction_of_a_nano_is_an_alarm() -> None:
    assert abi.to_nano(2 * NANO_IN_WEI) == 2
    with pytest.raises(ChainMismatch):
        abi.to_nano(NANO_IN_WEI + 1)


@pytest.mark.parametrize(
    "data, name",
    [
        (keccak(text="ZeroAmount()")[:4], "ZeroAmount"),
        (keccak(text="NumberAlreadyRecorded(uint256)")[:4] + bytes(32), "NumberAlreadyRecorded"),
        (bytes.fromhex("08c379a0") + encode(["string"], ["too late"]), "too late"),
        (bytes.fromhex("4e487b71") + encode(["uint256"], [0x11]), "Panic(0x11)"),
        (bytes.fromhex("08c379a0") + b"cut", "reverted with 0x08c379a0637574"),
        (b"\x01\x02\x03\x04", "reverted with 0x01020304"),
        (b"", "reverted"),
    ],
)
def test_revert_data_has_a_name(data: bytes, name: str) -> None:
    assert abi.revert_name(data) == name
