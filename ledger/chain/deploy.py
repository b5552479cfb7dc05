"""Puts HydraLedger on a chain, once: a second run finds the first one's contract and keeps it.

`python -m ledger.chain.deploy --help` for chains without Django; `manage.py deploy_ledger` reads the settings instead.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import rlp
from eth_abi import encode
from eth_typing import ChecksumAddress, HexStr
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3 import Web3
from web3.types import RPCEndpoint

from ledger.chain.deployment import RECORD_NAME, Deployment, find_deployment, load_artifact
from ledger.chain.keys import KeyFiles, create_keys
from ledger.chain.port import NANO_IN_WEI, ROLES
from ledger.chain.web3_chain import ChainSettings, Web3Chain, connect
from ledger.errors import ChainError, ChainUnavailable, KeyMissing, TxRejected, WrongChain

DEPLOY_GAS = 6_000_000  # measured: 3.78 million
RECEIPT_WAIT_S = 180  # the record is written before: a run that gives up here is taken up by the next one
DURABLE_WAIT_S = 15.0  # devnode checkpoints every second
DURABLE_POLL_S = 0.05
EMBEDDED_BALANCE = 10**24  # wei of the embedded chain's worthless ether for each role, refilled at each start
SETUP_TYPE = "(address,address,address,address,address,uint48,uint48,uint32,uint128)"
NOBODY = "0x" + "00" * 20
DAY_S = 86_400


@dataclass(frozen=True)
class Limits:
    """What a deployment fixes for good. `window_cap` is in nano: the most that may be recorded in `window_s` seconds."""

    window_cap: int = 10_000_000 * 10**9
    window_s: int = DAY_S
    admin_delay_s: int = 2 * DAY_S
    bind_delay_s: int = 2 * DAY_S


def deploy(settings: ChainSettings, limits: Limits = Limits()) -> Deployment:
    """Returns the contract that stands on the chain of `settings`, deploying it when there is none.

    On the embedded chain missing keys are made and each role gets gas money. When the recorded contract is gone there
    (the node fell back behind it), the same keys and nonce put it at the same address again.
    Raises WrongChain (the record and the chain disagree), KeyMissing, ChainUnavailable, TxRejected (no gas money).
    """
    if settings.keys_dir is None:
        raise KeyMissing("admin", "(none)", "deploying needs the folder of keys")
    if settings.is_embedded:
        create_keys(settings.keys_dir)
    keys = KeyFiles(settings.keys_dir)
    chain = Web3Chain(connect(settings), blank_deployment(settings, keys), keys)
    found = find_deployment(settings.chain_dir)
    if settings.is_embedded:
        fund_roles(chain)
    if found is not None and stands(chain, found, settings):
        return found
    return deploy_new(chain, keys, limits, settings.chain_dir)


def wait_until_durable(
    settings: ChainSettings, deployed: Deployment, timeout_s: float = DURABLE_WAIT_S
) -> None:
    """Returns once a kill of the embedded node can no longer take the contract away; at once on a public chain.

    Raises ChainUnavailable when no checkpoint comes: then whatever runs at the port is not devnode.
    """
    if not settings.is_embedded:
        return
    chain, deadline = Web3Chain.open(settings), time.monotonic() + timeout_s
    while chain.durable_height() <= deployed.block:  # the contract is in the block after
        if time.monotonic() > deadline:
            raise ChainUnavailable(
                f"no checkpoint with the contract within {timeout_s:g} s in {settings.durable_file}"
            )
        time.sleep(DURABLE_POLL_S)


def stands(chain: Web3Chain, found: Deployment, settings: ChainSettings) -> bool:
    """Whether the recorded contract is there with this version's code. Raises WrongChain rather than start a second ledger."""
    record = settings.chain_dir / RECORD_NAME
    if found.chain_id != settings.chain_id:
        raise WrongChain(f"chain {settings.chain_id}", f"{record} for chain {found.chain_id}")
    code = chain.ask("code", lambda w3: bytes(w3.eth.get_code(cast(ChecksumAddress, found.address))))
    artifact = load_artifact()
    if code and artifact.hash_of(code) == artifact.code_hash:
        return True
    if code or not settings.is_embedded:
        what = "other code" if code else f"no code (does transaction {found.tx_hash} still wait?)"
        raise WrongChain(
            f"this version's HydraLedger at {found.address}",
            f"{what}; to start a new and empty ledger, move {record} away",
        )
    return False


def deploy_new(chain: Web3Chain, keys: KeyFiles, limits: Limits, folder: Path) -> Deployment:
    """Records where the contract will stand, then sends it: an interruption leaves a record to go on from, not two ledgers."""
    nonce, head = chain.mined_nonce("admin"), chain.head()
    raw, tx_hash = sign_creation(chain, keys, limits, nonce)
    deployed = Deployment(
        address=creation_address(keys.address("admin"), nonce),
        chain_id=chain.chain_id,
        block=head.number,  # the indexer's start: a little early costs nothing
        tx_hash=tx_hash,
        code_hash=load_artifact().code_hash,
        roles=role_addresses(keys),
    )
    deployed.save(folder)
    chain.broadcast(raw)
    receipt = chain.ask(
        "deployment", lambda w3: w3.eth.wait_for_transaction_receipt(HexStr(tx_hash), RECEIPT_WAIT_S, 0.05)
    )
    if receipt["status"] != 1:
        (folder / RECORD_NAME).unlink()
        raise TxRejected(f"the deployment {tx_hash} reverted")
    return deployed


def sign_creation(chain: Web3Chain, keys: KeyFiles, limits: Limits, nonce: int) -> tuple[bytes, str]:
    fee = chain.suggest_fee()
    transaction = {
        "type": 2,
        "chainId": chain.chain_id,
        "value": 0,
        "data": load_artifact().bytecode + encode([SETUP_TYPE], [setup(keys, limits)]),
        "nonce": nonce,
        "gas": DEPLOY_GAS,
        "maxFeePerGas": fee.max_per_gas,
        "maxPriorityFeePerGas": fee.priority_per_gas,
    }
    return keys.sign("admin", transaction)


def creation_address(sender: str, nonce: int) -> str:
    """Where CREATE puts a contract: the last 20 bytes of keccak(rlp([sender, nonce])). Source: yellow paper, section 7."""
    return to_checksum_address(keccak(rlp.encode([bytes.fromhex(sender[2:]), nonce]))[12:])


def setup(keys: KeyFiles, limits: Limits) -> tuple[object, ...]:
    """The constructor's argument. Nobody binds wallets yet: the admin grants BINDER when the portal offers it."""
    recorder, spender, guardian = (keys.address(role) for role in ("recorder", "spender", "guardian"))
    holders = (keys.address("admin"), recorder, spender, NOBODY, guardian)
    return (
        *holders,
        limits.admin_delay_s,
        limits.bind_delay_s,
        limits.window_s,
        limits.window_cap * NANO_IN_WEI,
    )


def role_addresses(keys: KeyFiles) -> dict[str, str]:
    return {role: keys.address(role) for role in ROLES}


def blank_deployment(settings: ChainSettings, keys: KeyFiles) -> Deployment:
    """Stands in for the record while there is none, so that the chain can be asked at all."""
    return Deployment(NOBODY, settings.chain_id, 0, "", "", role_addresses(keys))


def fund_roles(chain: Web3Chain) -> None:
    for address in chain.deployment.roles.values():
        chain.ask("balance", set_balance(address))


def set_balance(address: str) -> Callable[[Web3], None]:
    def ask(w3: Web3) -> None:
        answer = w3.provider.make_request(RPCEndpoint("anvil_setBalance"), [address, hex(EMBEDDED_BALANCE)])
        if "error" in answer:
            raise ChainUnavailable(f"the embedded node refused to fund {address}: {answer['error']}")

    return ask


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ledger.chain.deploy", description="Deploys HydraLedger once."
    )
    parser.add_argument(
        "--rpc-url", required=True, help="http(s)://… of the node, or a path to its IPC socket"
    )
    parser.add_argument("--chain-id", required=True, type=int)
    parser.add_argument("--dir", required=True, type=Path, help=f"where {RECORD_NAME} is kept")
    parser.add_argument(
        "--keys",
        required=True,
        type=Path,
        help="folder of admin.key, recorder.key, spender.key, guardian.key",
    )
    parser.add_argument(
        "--embedded", action="store_true", help="the node is devnode: make missing keys, give them gas money"
    )
    options = parser.parse_args(argv)
    durable_file = options.dir / "checkpoint.json" if options.embedded else None
    settings = ChainSettings(options.rpc_url, options.chain_id, options.dir, options.keys, durable_file)
    try:
        done = deploy(settings)
        wait_until_durable(settings, done)
    except ChainError as error:
        print(f"not deployed: {error}", file=sys.stderr)
        return 1
    print(f"HydraLedger stands at {done.address} on chain {done.chain_id} (block {done.block})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
