"""Deployment on a real node: once, found again, put back where it was after the node fell behind it, never a second ledger by accident."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.chain.deploy import Limits, creation_address, deploy, main, wait_until_durable
from ledger.chain.deployment import find_deployment
from ledger.chain.keys import create_keys
from ledger.chain.web3_chain import ChainSettings, Web3Chain
from ledger.errors import ChainUnavailable, KeyMissing, TxRejected, WrongChain
from tests.ledger.chain.node import AnvilNode

LIMITS = Limits(window_cap=500)


@pytest.fixture
def settings(anvil: AnvilNode, tmp_path: Path) -> ChainSettings:
    """The running node seen by an embedded installation of its own."""
    return replace(
        anvil.settings,
        chain_dir=tmp_path,
        keys_dir=tmp_path / "keys",
        durable_file=tmp_path / "checkpoint.json",
    )


def public(settings: ChainSettings) -> ChainSettings:
    return replace(settings, durable_file=None)


def test_a_creation_address_is_the_yellow_papers() -> None:
    # Worked example of the Ethereum community: sender 0x6ac7…, nonces 0 and 1.
    sender = "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0"
    assert creation_address(sender, 0) == "0xcd234A471b72ba2F1Ccf0A70FCABA648a5eeCD8d"
    assert creation_address(sender, 1) == "0x343c43A37D37dfF08AE8C4A11544c718AbB4fCF8"


@pytest.mark.anvil
def test_the_second_run_finds_the_first(settings: ChainSettings) -> None:
    first = deploy(settings, LIMITS)
    assert deploy(settings, LIMITS) == first == find_deployment(settings.chain_dir)
    chain = Web3Chain.open(settings)
    assert chain.contract == first.address
    assert chain.mined_nonce("admin") == 1
    assert chain.totals().is_balanced


@pytest.mark.anvil
def test_each_role_is_held_by_its_key(settings: ChainSettings) -> None:
    deployed = deploy(settings, LIMITS)
    assert set(deployed.roles) == {"admin", "recorder", "spender", "guardian"}
    assert len(set(deployed.roles.values())) == 4


@pytest.mark.anvil
def test_an_embedded_node_that_fell_back_gets_it_at_the_same_address(
    anvil: AnvilNode, settings: ChainSettings
) -> None:
    before = anvil.ask("evm_snapshot")
    first = deploy(settings, LIMITS)
    anvil.ask("evm_revert", before)
    again = deploy(settings, LIMITS)
    assert again.address == first.address
    assert Web3Chain.open(settings).totals().recorded == 0


@pytest.mark.anvil
def test_a_public_chain_without_the_recorded_contract_stops(
    anvil: AnvilNode, settings: ChainSettings
) -> None:
    before = anvil.ask("evm_snapshot")
    deploy(settings, LIMITS)
    anvil.ask("evm_revert", before)
    with pytest.raises(WrongChain, match="no code"):
        deploy(public(settings), LIMITS)


@pytest.mark.anvil
def test_other_code_at_the_address_stops(anvil: AnvilNode, settings: ChainSettings) -> None:
    deployed = deploy(settings, LIMITS)
    anvil.ask("anvil_setCode", deployed.address, "0x6001")
    with pytest.raises(WrongChain, match="other code"):
        deploy(settings, LIMITS)


@pytest.mark.anvil
def test_another_chain_id_stops(settings: ChainSettings) -> None:
    with pytest.raises(WrongChain, match="chain 5"):
        deploy(replace(settings, chain_id=5), LIMITS)
    assert find_deployment(settings.chain_dir) is None


@pytest.mark.anvil
def test_a_public_chain_wants_keys_and_money_brought_along(settings: ChainSettings) -> None:
    with pytest.raises(KeyMissing):
        deploy(public(settings), LIMITS)
    assert settings.keys_dir is not None
    create_keys(settings.keys_dir)
    with pytest.raises(TxRejected, match=r"(?i)funds"):
        deploy(public(settings), LIMITS)


@pytest.mark.anvil
def test_it_is_done_once_a_checkpoint_has_the_contract(anvil: AnvilNode, settings: ChainSettings) -> None:
    deployed = deploy(settings, LIMITS)
    note, chain = settings.durable_file, Web3Chain.open(settings)
    assert note is not None
    with pytest.raises(ChainUnavailable, match="no checkpoint"):
        wait_until_durable(settings, deployed, 0)
    for height, is_done in [(deployed.block, False), (deployed.block + 1, True)]:
        note.write_text(json.dumps({"block": height, "hash": chain.block_hash(height)}))
        with nullcontext() if is_done else pytest.raises(ChainUnavailable):
            wait_until_durable(settings, deployed, 0)
    wait_until_durable(public(settings), deployed, 0)


def test_a_node_that_is_not_there_is_told_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    where = ["--dir", str(tmp_path), "--keys", str(tmp_path / "keys")]
    code = main(["--rpc-url", "http://127.0.0.1:1", "--chain-id", "777001", "--embedded", *where])
    assert code == 1
    assert "not deployed: The chain node did not answer" in capsys.readouterr().err


def test_opening_without_a_deployment_says_so(tmp_path: Path) -> None:
    with pytest.raises(WrongChain, match=r"deployment\.json"):
        Web3Chain.open(ChainSettings("http://127.0.0.1:1", 777001, tmp_path))


def test_a_damaged_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "deployment.json").write_text('{"address": ')
    with pytest.raises(WrongChain, match="unreadable"):
        find_deployment(tmp_path)


@pytest.mark.anvil
def test_opening_asks_the_node_nothing(anvil_session: AnvilNode) -> None:
    chain = anvil_session.open(rpc_url="http://127.0.0.1:1")
    with pytest.raises(ChainUnavailable):
        chain.head()
