"""HydraLedger on py-evm: one deployed contract, its role holders, and short ways to act, to be refused and to look."""

import ast
from dataclasses import dataclass
from typing import Any

import pytest
from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from web3 import EthereumTesterProvider, Web3
from web3.exceptions import ContractPanicError

from ledger.chain import abi
from ledger.chain.deployment import load_artifact

HYD = 10**18
NANO = 10**9
DAY = 86_400
CAP = 1_000_000 * HYD
BIND_DELAY = 2 * DAY
ADMIN_DELAY = 3 * DAY
ROOT = b"\xee" * 32
NOBODY = "0x" + "00" * 20
GAS = 16_000_000
ADA, BOB, CAY = (bytes([i]) * 32 for i in (0xA, 0xB, 0xC))
JOB = b"j" * 32


class Evm:
    """`at` maps a name to an address: admin, recorder, spender, binder, guardian and the wallets wanda and otto."""

    NAMES = ("admin", "recorder", "spender", "binder", "guardian", "wanda", "otto")

    def __init__(self) -> None:
        self.tester = EthereumTester(PyEVMBackend())
        self.w3 = Web3(EthereumTesterProvider(self.tester))
        self.at = dict(zip(self.NAMES, self.w3.eth.accounts, strict=False))
        self.keys = dict(zip(self.NAMES, self.tester.backend.account_keys, strict=False))
        self.contract = self.deploy(self.setup())

    def setup(self, **changes: int) -> tuple[Any, ...]:
        roles = [self.at[name] for name in self.NAMES[:5]]
        limits = {
            "admin_delay": ADMIN_DELAY,
            "bind_delay": BIND_DELAY,
            "window_s": DAY,
            "window_cap": CAP,
        } | changes
        return (*roles, *limits.values())

    def factory(self) -> Any:
        artifact = load_artifact()
        return self.w3.eth.contract(abi=list(artifact.abi), bytecode=artifact.bytecode)

    def deploy(self, setup: tuple[Any, ...]) -> Any:
        sent = self.factory().constructor(setup).transact({"from": self.at["admin"], "gas": GAS})
        address = self.w3.eth.get_transaction_receipt(sent)["contractAddress"]
        return self.w3.eth.contract(address, abi=list(load_artifact().abi))

    def function(self, name: str, *arguments: Any) -> Any:
        return self.contract.get_function_by_name(name)(*arguments)

    def do(self, who: str, name: str, *arguments: Any) -> Any:
        """Acts as `who` and returns the receipt; the transaction must succeed."""
        receipt = self.send(who, name, *arguments)
        assert receipt["status"] == 1, f"{name} by {who} reverted"
        return receipt

    def send(self, who: str, name: str, *arguments: Any) -> Any:
        sent = self.function(name, *arguments).transact({"from": self.at[who], "gas": GAS})
        return self.w3.eth.get_transaction_receipt(sent)

    def refused(self, error: str, who: str, name: str, *arguments: Any) -> None:
        """Expects `who` to be refused with that error, by name."""
        with pytest.raises((TransactionFailed, ContractPanicError)) as failure:
            self.function(name, *arguments).call({"from": self.at[who]})
        assert reason(failure.value) == error

    def ask(self, name: str, *arguments: Any) -> Any:
        return self.function(name, *arguments).call()

    def events(self, receipt: Any) -> list[tuple[str, dict[str, Any]]]:
        decoded = [abi.decode_event(list(log["topics"]), bytes(log["data"])) for log in receipt["logs"]]
        return [event for event in decoded if event]

    def totals(self) -> "Sums":
        sums = Sums(*self.ask("totals"))
        assert sums.recorded == sums.available + sums.credits + sums.locked + sums.spent + sums.supply
        assert sums.spent == sums.used - sums.paid
        return sums

    def holds(self, account: bytes) -> tuple[int, int]:
        """(available, credits) in wei."""
        return tuple(self.ask("accounts", account))

    def wait(self, seconds: int) -> None:
        self.tester.time_travel(self.now() + seconds)
        self.tester.mine_block()  # questions are answered as of the latest block

    def now(self) -> int:
        return self.w3.eth.get_block("latest")["timestamp"]

    # -- common beginnings

    def reward(self, account: bytes, amount: int, number: int | None = None) -> Any:
        number = self.ask("totals")[8] if number is None else number
        return self.do("recorder", "recordRewards", number, [account], [amount], ROOT)

    def give_credits(self, account: bytes, amount: int) -> None:
        self.reward(account, amount)
        self.do("spender", "unlock", account, amount, self.w3.keccak(text=f"{account.hex()}{self.now()}"))

    def lock_job(self, account: bytes, amount: int, job: bytes = JOB) -> None:
        self.give_credits(account, amount)
        self.do("spender", "lock", account, job, amount)

    def bind(self, account: bytes, wallet: str) -> None:
        self.do("binder", "requestBind", account, self.at[wallet], *self.sign_bind(account, wallet))
        self.wait(BIND_DELAY + 1)
        self.do("binder", "finalizeBind", account)

    def sign_bind(self, account: bytes, wallet: str, **changes: Any) -> tuple[int, bytes]:
        """(deadline, signature) of the wallet's EIP-712 consent; `changes` falsify a field or the domain."""
        deadline = changes.get("deadline", self.now() + DAY)
        nonce = changes.get("nonce", self.ask("bindNonce", account))
        domain = {
            "name": "HydraLedger",
            "version": "1",
            "chainId": changes.get("chain_id", self.w3.eth.chain_id),
            "verifyingContract": changes.get("contract", self.contract.address),
        }
        kinds = {
            "Bind": [
                ("account", "bytes32"),
                ("wallet", "address"),
                ("nonce", "uint256"),
                ("deadline", "uint256"),
            ]
        }
        typed = {
            name: [{"name": part, "type": kind} for part, kind in parts] for name, parts in kinds.items()
        }
        message = {"account": account, "wallet": self.at[wallet], "nonce": nonce, "deadline": deadline}
        key = self.keys[changes.get("signer", wallet)]
        signed = self.w3.eth.account.sign_typed_data(str(key), domain, typed, message)
        return deadline, bytes(signed.signature)


@dataclass(frozen=True)
class Sums:
    """The contract's `totals()`, in wei."""

    recorded: int
    available: int
    credits: int
    locked: int
    spent: int
    supply: int
    used: int
    paid: int
    next_number: int


def reason(failure: Exception) -> str:
    """The error's name out of eth-tester's message, which quotes the revert data as Python bytes; web3 unpacks panics."""
    if isinstance(failure, ContractPanicError):
        return abi.revert_name(bytes.fromhex(str(failure.data)[2:]))
    quoted = str(failure.args[0]).removeprefix("execution reverted: ")
    return abi.revert_name(ast.literal_eval(quoted)) if quoted.startswith("b") else quoted
