"""The port over JSON-RPC: any EVM node, the embedded anvil included. Signs locally; the node never sees a key.

The only module that talks to a node through web3. Keys are left to `keys`, bytes to `abi`, the record to `deployment`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import requests
from eth_abi.exceptions import DecodingError
from eth_typing import ChecksumAddress, HexStr
from eth_utils.crypto import keccak
from web3 import HTTPProvider, IPCProvider, Web3
from web3.exceptions import (
    BlockNotFound,
    ContractLogicError,
    TransactionNotFound,
    Web3Exception,
    Web3RPCError,
)
from web3.middleware import ExtraDataToPOAMiddleware
from web3.types import TxParams

from ledger.chain import abi
from ledger.chain.calls import gas_limit
from ledger.chain.deployment import Deployment, fetch_deployment
from ledger.chain.keys import KeyFiles, NoKeys, Signer
from ledger.chain.port import AccountState, BlockRef, Call, ChainEvent, Fee, Receipt, Role, SignedTx, Totals
from ledger.errors import (
    ChainUnavailable,
    KeyMissing,
    NonceTooLow,
    ReplacementUnderpriced,
    TxRejected,
    WrongChain,
)

T = TypeVar("T")
TIMEOUT_S = 10.0
GWEI = 10**9
# A node's words when it has these very bytes already: geth, anvil and reth, Nethermind, Besu.
KNOWN = ("already known", "already imported", "alreadyknown", "known transaction")
# The contract's struct Totals, without its last field.
SUMS = ("recorded", "available", "credits", "locked", "spent", "supply", "used", "paid")
# Errors that say nothing about the transaction: JSON-RPC's limit exceeded and internal error, and a node that is busy.
TRANSIENT_CODES = frozenset({-32005, -32603})
BUSY = ("pool is full", "rate limit", "too many requests", "timeout", "timed out")


@dataclass(frozen=True)
class ChainSettings:
    """How to reach a chain. Without `keys_dir` nothing can be signed; `durable_file` belongs to the embedded node alone."""

    rpc_url: str
    chain_id: int
    chain_dir: Path
    keys_dir: Path | None = None
    durable_file: Path | None = None
    timeout_s: float = TIMEOUT_S

    @classmethod
    def read(cls, source: Any, *, with_keys: bool) -> "ChainSettings":
        """Takes the HYDRA_* attributes of Django's settings, or of anything that has them. An empty durable file means none."""
        return cls(
            rpc_url=source.HYDRA_CHAIN_RPC_URL,
            chain_id=source.HYDRA_CHAIN_ID,
            chain_dir=Path(source.HYDRA_CHAIN_DIR),
            keys_dir=Path(source.HYDRA_KEYS_DIR) if with_keys else None,
            durable_file=Path(source.HYDRA_CHAIN_DURABLE_FILE) if source.HYDRA_CHAIN_DURABLE_FILE else None,
        )

    @property
    def is_embedded(self) -> bool:
        return self.durable_file is not None


class Web3Chain:
    """One deployed HydraLedger on one node. Opening asks the node nothing, so a process starts while the node is down."""

    def __init__(
        self, w3: Web3, deployment: Deployment, signer: Signer, *, durable_file: Path | None = None
    ) -> None:
        self.w3, self.deployment, self.signer, self.durable_file = w3, deployment, signer, durable_file
        self.is_checked = False

    @classmethod
    def open(cls, settings: ChainSettings) -> "Web3Chain":
        """Raises WrongChain when nothing is deployed yet, or the record is for another chain id."""
        deployment = fetch_deployment(settings.chain_dir)
        if deployment.chain_id != settings.chain_id:
            raise WrongChain(f"chain {settings.chain_id}", f"a deployment on chain {deployment.chain_id}")
        signer = KeyFiles(settings.keys_dir) if settings.keys_dir else NoKeys()
        return cls(connect(settings), deployment, signer, durable_file=settings.durable_file)

    @property
    def chain_id(self) -> int:
        return self.deployment.chain_id

    @property
    def contract(self) -> str:
        return self.deployment.address

    def head(self) -> BlockRef:
        return self.ask("head", lambda w3: to_ref(w3.eth.get_block("latest")))

    def block_hash(self, number: int) -> str | None:
        try:
            return self.ask("block_hash", lambda w3: to_ref(w3.eth.get_block(number)).hash, BlockNotFound)
        except BlockNotFound:
            return None

    def durable_height(self) -> int:
        """On the embedded node 0 until a checkpoint of this very chain exists."""
        if self.durable_file is None:
            return self.head().number
        try:
            checkpoint = json.loads(self.durable_file.read_text())
            number, expected = int(checkpoint["block"]), checkpoint["hash"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return number if self.block_hash(number) == expected else 0

    def mined_nonce(self, role: Role) -> int:
        address = self.address(role)
        return self.ask("mined_nonce", lambda w3: w3.eth.get_transaction_count(address, "latest"))

    def suggest_fee(self) -> Fee:
        """Twice the base fee, which covers six full blocks in a row, plus the node's idea of a tip."""

        def fetch(w3: Web3) -> Fee:
            base, tip = w3.eth.get_block("latest").get("baseFeePerGas", GWEI), w3.eth.max_priority_fee
            return Fee(2 * base + tip, tip)

        return self.ask("suggest_fee", fetch)

    def sign(self, call: Call, *, role: Role, nonce: int, fee: Fee) -> SignedTx:
        transaction = {
            "type": 2,
            "chainId": self.chain_id,
            "to": self.contract,
            "value": 0,
            "data": abi.encode_call(call),
            "nonce": nonce,
            "gas": gas_limit(call),
            "maxFeePerGas": fee.max_per_gas,
            "maxPriorityFeePerGas": fee.priority_per_gas,
        }
        own, expected = self.signer.address(role), self.address(role)
        if own != expected:
            raise KeyMissing(role, own, f"the contract was deployed with {expected} in this role")
        raw, tx_hash = self.signer.sign(role, transaction)
        return SignedTx(hash=tx_hash, raw=raw, nonce=nonce, sender=own)

    def broadcast(self, raw: bytes) -> None:
        try:
            self.ask("broadcast", lambda w3: w3.eth.send_raw_transaction(raw), Web3RPCError)
        except Web3RPCError as error:
            self.explain_refusal(raw, error)

    def explain_refusal(self, raw: bytes, error: Web3RPCError) -> None:
        """Returns when the node has the transaction after all; else raises what the node meant."""
        tx_hash, reason = "0x" + keccak(raw).hex(), rpc_message(error)
        words = reason.lower()
        if any(known in words for known in KNOWN):
            return
        if "nonce" in words and "low" in words:
            if self.find_mined(tx_hash) is None:
                raise NonceTooLow(tx_hash) from error
            return
        if "underpriced" in words:
            raise ReplacementUnderpriced(tx_hash) from error
        if rpc_code(error) in TRANSIENT_CODES or any(busy in words for busy in BUSY):
            raise ChainUnavailable(reason) from error
        raise TxRejected(reason) from error

    def find_receipt(self, tx_hash: str) -> Receipt | None:
        found = self.find_mined(tx_hash)
        if found is None:
            return None
        is_success = found["status"] == 1
        return Receipt(
            tx_hash=tx_hash,
            status=is_success,
            block_number=found["blockNumber"],
            block_hash=found["blockHash"].to_0x_hex(),
            gas_used=found["gasUsed"],
            revert_reason=None if is_success else self.find_revert_reason(tx_hash, found["blockNumber"]),
        )

    def events(self, first: int, last: int) -> list[ChainEvent]:
        """Asks for the whole range at once: public nodes limit it, so the caller chooses it small enough."""
        last = min(
            last, self.head().number
        )  # beyond the head, some nodes answer with an error instead of nothing
        if last < first:
            return []
        wanted: Any = {"address": self.contract, "fromBlock": first, "toBlock": last}
        logs = self.ask("events", lambda w3: w3.eth.get_logs(wanted))
        return [event for log in logs if (event := to_event(log))]

    def totals(self) -> Totals:
        (values,) = self.view("totals")
        *sums, next_number = values
        return Totals(next_number=next_number, **dict(zip(SUMS, map(abi.to_nano, sums), strict=True)))

    def account(self, account: bytes) -> AccountState:
        available, credits = self.view("accounts", account)
        return AccountState(abi.to_nano(available), abi.to_nano(credits))

    # -- inside

    def address(self, role: Role) -> ChecksumAddress:
        try:
            return cast(ChecksumAddress, self.deployment.roles[role])
        except KeyError:
            raise KeyMissing(role, self.contract, "the deployment gave this role to nobody") from None

    def ask(self, what: str, question: Callable[[Web3], T], *passing: type[Exception]) -> T:
        """Asks the node, after making sure once that it is the right chain. Only errors of the types `passing` get through;
        every other way of not answering becomes ChainUnavailable.
        """
        try:
            if not self.is_checked:
                self.check_chain()
            return question(self.w3)
        except passing:
            raise
        except (requests.RequestException, Web3Exception, OSError) as error:
            raise ChainUnavailable(f"{what}: {explain(error)}") from error

    def check_chain(self) -> None:
        found = self.w3.eth.chain_id
        if found != self.chain_id:
            raise WrongChain(f"chain {self.chain_id}", f"chain {found}")
        self.is_checked = True

    def view(self, function: str, *arguments: object) -> tuple[Any, ...]:
        call: TxParams = {
            "to": cast(ChecksumAddress, self.contract),
            "data": abi.calldata(function, *arguments),
        }
        try:
            data = bytes(self.ask(function, lambda w3: w3.eth.call(call), ContractLogicError))
            return abi.decode_result(function, data)
        except (ContractLogicError, DecodingError) as error:
            raise WrongChain(f"HydraLedger at {self.contract}", "other code, or none") from error

    def find_mined(self, tx_hash: str) -> Any | None:
        try:
            return self.ask(
                "find_receipt",
                lambda w3: w3.eth.get_transaction_receipt(HexStr(tx_hash)),
                TransactionNotFound,
            )
        except TransactionNotFound:
            return None

    def find_revert_reason(self, tx_hash: str, block: int) -> str | None:
        """Runs the transaction again on the state before its block, then after it. None where the node forgot both."""
        try:
            sent = self.ask(
                "find_receipt", lambda w3: w3.eth.get_transaction(HexStr(tx_hash)), TransactionNotFound
            )
        except TransactionNotFound:
            return None
        again: Any = {"from": sent["from"], "to": sent["to"], "data": sent["input"], "gas": sent["gas"]}
        return self.find_revert(again, block - 1) or self.find_revert(again, block)

    def find_revert(self, call: Any, block: int) -> str | None:
        try:
            self.ask("find_receipt", lambda w3: w3.eth.call(call, block), Web3RPCError, ContractLogicError)
        except ContractLogicError as error:
            return abi.revert_name(revert_data(error))
        except Web3RPCError:  # the state of that block is pruned
            return None
        return None


def connect(settings: ChainSettings) -> Web3:
    """A connection that gives up after `timeout_s` and never repeats a request by itself: repeating is the sender's decision."""
    if settings.rpc_url.startswith(("http://", "https://")):
        provider: Any = HTTPProvider(
            settings.rpc_url,
            request_kwargs={"timeout": settings.timeout_s},
            exception_retry_configuration=None,
        )
    else:
        provider = IPCProvider(settings.rpc_url.removeprefix("ipc://"), timeout=int(settings.timeout_s))
    w3 = Web3(provider)
    w3.middleware_onion.inject(
        ExtraDataToPOAMiddleware, layer=0
    )  # without it blocks of proof-of-authority chains raise
    return w3


def explain(error: Exception) -> str:
    return rpc_message(error) if isinstance(error, Web3RPCError) else str(error) or type(error).__name__


def rpc_error(error: Web3RPCError) -> dict[str, Any]:
    found = (error.rpc_response or {}).get("error", {})
    return cast(dict[str, Any], found) if isinstance(found, dict) else {"message": str(found)}


def rpc_message(error: Web3RPCError) -> str:
    return str(rpc_error(error).get("message") or error)


def rpc_code(error: Web3RPCError) -> int | None:
    return rpc_error(error).get("code")


def revert_data(error: ContractLogicError) -> bytes:
    data = error.data
    return bytes.fromhex(data.removeprefix("0x")) if isinstance(data, str) else b""


def to_ref(block: Any) -> BlockRef:
    return BlockRef(block["number"], block["hash"].to_0x_hex(), block["timestamp"])


def to_event(log: Any) -> ChainEvent | None:
    decoded = abi.decode_event(list(log["topics"]), bytes(log["data"]))
    if decoded is None:
        return None
    return ChainEvent(
        block_number=log["blockNumber"],
        block_hash=log["blockHash"].to_0x_hex(),
        tx_hash=log["transactionHash"].to_0x_hex(),
        log_index=log["logIndex"],
        name=decoded[0],
        args=decoded[1],
    )
