"""Binding an account to a wallet, withdrawing to it, depositing from it: with the wallet's own consent only."""

import pytest

from tests.ledger.contracts.evm import ADA, BIND_DELAY, BOB, DAY, HYD, NOBODY, Evm

OP = b"o" * 32


def ask_bind(evm: Evm, account: bytes = ADA, wallet: str = "wanda") -> None:
    evm.do("binder", "requestBind", account, evm.at[wallet], *evm.sign_bind(account, wallet))


def test_a_wallet_is_bound_with_its_signature_after_the_delay(evm: Evm) -> None:
    ask_bind(evm)
    assert evm.ask("walletOf", ADA) == NOBODY
    evm.refused("BindTooEarly", "binder", "finalizeBind", ADA)
    evm.wait(BIND_DELAY + 1)
    evm.do("wanda", "finalizeBind", ADA)
    assert evm.ask("walletOf", ADA) == evm.at["wanda"]
    assert evm.ask("accountOf", evm.at["wanda"]) == ADA


@pytest.mark.parametrize(
    "error, changes",
    [
        ("BadBindSignature", {"signer": "otto"}),
        ("BadBindSignature", {"nonce": 1}),
        ("BadBindSignature", {"chain_id": 1}),
        ("BadBindSignature", {"contract": "0x" + "11" * 20}),
        ("BindSignatureExpired", {"deadline": 1}),
    ],
    ids=["another's", "wrong nonce", "another chain", "another contract", "too late"],
)
def test_a_false_signature_binds_nobody(evm: Evm, error: str, changes: dict) -> None:
    signed = evm.sign_bind(ADA, "wanda", **changes)
    evm.refused(error, "binder", "requestBind", ADA, evm.at["wanda"], *signed)


def test_a_signature_is_good_for_one_account_wallet_and_request(evm: Evm) -> None:
    signed = evm.sign_bind(ADA, "wanda")
    evm.refused("BadBindSignature", "binder", "requestBind", BOB, evm.at["wanda"], *signed)
    evm.refused("BadBindSignature", "binder", "requestBind", ADA, evm.at["otto"], *signed)
    evm.do("binder", "requestBind", ADA, evm.at["wanda"], *signed)
    evm.do("guardian", "cancelBind", ADA)
    evm.refused("BadBindSignature", "binder", "requestBind", ADA, evm.at["wanda"], *signed)


def test_the_empty_account_and_the_empty_wallet_are_refused(evm: Evm) -> None:
    evm.refused(
        "ZeroAccount", "binder", "requestBind", bytes(32), evm.at["wanda"], *evm.sign_bind(bytes(32), "wanda")
    )
    evm.refused("BadBindSignature", "binder", "requestBind", ADA, NOBODY, evm.now() + DAY, bytes(65))


@pytest.mark.parametrize("who", ["binder", "guardian", "wanda"])
def test_a_request_can_be_vetoed(evm: Evm, who: str) -> None:
    ask_bind(evm)
    evm.do(who, "cancelBind", ADA)
    evm.wait(BIND_DELAY + 1)
    evm.refused("NoBindPending", "binder", "finalizeBind", ADA)


@pytest.mark.parametrize("who", ["otto", "recorder", "spender", "admin"])
def test_others_neither_veto_nor_finish_nor_ask(evm: Evm, who: str) -> None:
    ask_bind(evm)
    evm.wait(BIND_DELAY + 1)
    evm.refused("NotTheWallet", who, "cancelBind", ADA)
    evm.refused("NotTheWallet", who, "finalizeBind", ADA)
    signed = evm.sign_bind(BOB, "otto")
    evm.refused("AccessControlUnauthorizedAccount", who, "requestBind", BOB, evm.at["otto"], *signed)


def test_one_request_waits_at_a_time(evm: Evm) -> None:
    ask_bind(evm)
    evm.refused(
        "BindAlreadyPending", "binder", "requestBind", ADA, evm.at["otto"], *evm.sign_bind(ADA, "otto")
    )


def test_binding_is_one_to_one(evm: Evm) -> None:
    evm.bind(ADA, "wanda")
    evm.refused("AlreadyBound", "binder", "requestBind", BOB, evm.at["wanda"], *evm.sign_bind(BOB, "wanda"))
    evm.refused("AlreadyBound", "binder", "requestBind", ADA, evm.at["otto"], *evm.sign_bind(ADA, "otto"))


def test_of_two_requests_for_one_wallet_one_becomes_final(evm: Evm) -> None:
    ask_bind(evm, ADA)
    ask_bind(evm, BOB)
    evm.wait(BIND_DELAY + 1)
    evm.do("binder", "finalizeBind", ADA)
    evm.refused("AlreadyBound", "binder", "finalizeBind", BOB)


def test_only_the_wallet_unbinds_and_is_free_again(evm: Evm) -> None:
    evm.bind(ADA, "wanda")
    for who in ("binder", "guardian", "admin", "otto"):
        evm.refused("NotTheWallet", who, "unbind", ADA)
    evm.do("wanda", "unbind", ADA)
    assert evm.ask("accountOf", evm.at["wanda"]) == bytes(32)
    evm.bind(BOB, "wanda")
    assert evm.ask("walletOf", BOB) == evm.at["wanda"]


def test_while_bound_the_wallet_alone_unlocks(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.bind(ADA, "wanda")
    evm.refused("NotTheWallet", "spender", "unlock", ADA, HYD, OP)
    evm.do("wanda", "unlock", ADA, HYD, OP)
    assert evm.holds(ADA) == (4 * HYD, HYD)
    evm.do("wanda", "unbind", ADA)
    evm.refused("AccessControlUnauthorizedAccount", "wanda", "unlock", ADA, HYD, b"p" * 32)
    evm.do("spender", "unlock", ADA, HYD, b"p" * 32)


def test_withdraw_mints_to_the_bound_wallet(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.bind(ADA, "wanda")
    receipt = evm.do("wanda", "withdraw", ADA, 2 * HYD)
    assert evm.events(receipt) == [
        ("Withdrawn", {"account": ADA, "wallet": evm.at["wanda"], "amount": 2 * 10**9})
    ]
    assert evm.ask("balanceOf", evm.at["wanda"]) == 2 * HYD
    assert (evm.totals().supply, evm.totals().available) == (2 * HYD, 3 * HYD)


@pytest.mark.parametrize(
    "error, who, amount",
    [
        ("NotTheWallet", "otto", HYD),
        ("NotTheWallet", "spender", HYD),
        ("InsufficientAvailable", "wanda", 6 * HYD),
        ("NotWholeNano", "wanda", 1),
        ("ZeroAmount", "wanda", 0),
    ],
)
def test_withdraw_refuses(evm: Evm, error: str, who: str, amount: int) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.bind(ADA, "wanda")
    evm.refused(error, who, "withdraw", ADA, amount)


def test_nobody_withdraws_from_an_unbound_account(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.refused("NotTheWallet", "wanda", "withdraw", ADA, HYD)


def test_a_sponsor_deposits_what_she_holds(evm: Evm) -> None:
    evm.reward(ADA, 5 * HYD)
    evm.bind(ADA, "wanda")
    evm.do("wanda", "withdraw", ADA, 5 * HYD)
    evm.do("wanda", "transfer", evm.at["otto"], 4 * HYD)
    receipt = evm.do("otto", "deposit", BOB, 3 * HYD)
    assert evm.events(receipt) == [
        ("Deposited", {"account": BOB, "wallet": evm.at["otto"], "amount": 3 * 10**9})
    ]
    assert evm.holds(BOB) == (3 * HYD, 0)
    assert evm.totals().supply == 2 * HYD
    evm.refused("ERC20InsufficientBalance", "otto", "deposit", BOB, 2 * HYD)
    evm.refused("ZeroAccount", "otto", "deposit", bytes(32), HYD)
    evm.refused("NotWholeNano", "otto", "deposit", BOB, 1)


def test_the_token_has_18_decimals(evm: Evm) -> None:
    assert (evm.ask("name"), evm.ask("symbol"), evm.ask("decimals")) == ("Hydra", "HYD", 18)
