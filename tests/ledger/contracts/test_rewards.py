"""recordRewards: numbers once, the window's cap, batch sizes, what an amount may be."""

import pytest

from tests.ledger.contracts.evm import ADA, BOB, CAP, DAY, HYD, NANO, ROOT, Evm

HUNDRED = [i.to_bytes(32, "big") for i in range(1, 101)]


def record(evm: Evm, first: int, accounts: list[bytes], amounts: list[int]):
    return evm.do("recorder", "recordRewards", first, accounts, amounts, ROOT)


def test_credits_each_account_and_tells_each_reward(evm: Evm) -> None:
    receipt = record(evm, 7, [ADA, BOB, ADA], [3 * HYD, HYD, 2 * HYD])
    assert evm.holds(ADA) == (5 * HYD, 0)
    assert evm.holds(BOB) == (HYD, 0)
    nano = HYD // NANO
    assert evm.events(receipt) == [
        ("RewardRecorded", {"number": 7, "account": ADA, "amount": 3 * nano}),
        ("RewardRecorded", {"number": 8, "account": BOB, "amount": nano}),
        ("RewardRecorded", {"number": 9, "account": ADA, "amount": 2 * nano}),
        ("BatchRecorded", {"first": 7, "count": 3, "evidenceRoot": ROOT}),
    ]
    totals = evm.totals()
    assert (totals.recorded, totals.available, totals.next_number) == (6 * HYD, 6 * HYD, 10)


def test_each_of_a_hundred_numbers_is_refused_again(evm: Evm) -> None:
    record(evm, 200, HUNDRED, [HYD] * 100)
    for number in range(200, 300):
        evm.refused("NumberAlreadyRecorded", "recorder", "recordRewards", number, [ADA], [HYD], ROOT)
    assert not evm.ask("isRecorded", 199)
    assert all(evm.ask("isRecorded", number) for number in (200, 255, 256, 299))
    assert not evm.ask("isRecorded", 300)
    assert evm.totals().recorded == 100 * HYD


@pytest.mark.parametrize("first", [101, 150, 199, 299])
def test_one_known_number_refuses_the_whole_batch(evm: Evm, first: int) -> None:
    record(evm, 200, HUNDRED, [HYD] * 100)
    receipt = evm.send("recorder", "recordRewards", first, HUNDRED, [HYD] * 100, ROOT)
    assert receipt["status"] == 0
    assert evm.totals().recorded == 100 * HYD
    assert not evm.ask("isRecorded", 150)
    assert not evm.ask("isRecorded", 300)


def test_numbers_may_come_out_of_order(evm: Evm) -> None:
    record(evm, 500, [ADA], [HYD])
    record(evm, 499, [ADA], [HYD])
    assert evm.totals().next_number == 501


def test_a_batch_across_two_words_of_the_bitmap_marks_both(evm: Evm) -> None:
    record(evm, 250, HUNDRED[:12], [HYD] * 12)
    assert [evm.ask("isRecorded", number) for number in (249, 250, 255, 256, 261, 262)] == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]


def test_takes_300_and_refuses_301(evm: Evm) -> None:
    accounts = [i.to_bytes(32, "big") for i in range(1, 302)]
    receipt = record(evm, 0, accounts[:300], [HYD] * 300)
    assert receipt["gasUsed"] < 16_777_216
    evm.refused("BadBatchSize", "recorder", "recordRewards", 300, accounts, [HYD] * 301, ROOT)


@pytest.mark.parametrize(
    "error, accounts, amounts",
    [
        ("BadBatchSize", [], []),
        ("ListsDiffer", [ADA], [HYD, HYD]),
        ("ListsDiffer", [ADA, BOB], [HYD]),
        ("ZeroAccount", [bytes(32)], [HYD]),
        ("ZeroAmount", [ADA, BOB], [HYD, 0]),
        ("NotWholeNano", [ADA], [HYD + 1]),
        ("SafeCastOverflowedUintDowncast", [ADA], [2**128 * NANO]),
        ("Panic(0x11)", [ADA, ADA], [(2**128 - 1) // NANO * NANO] * 2),
    ],
)
def test_refuses_what_is_no_batch(evm: Evm, error: str, accounts: list[bytes], amounts: list[int]) -> None:
    evm.refused(error, "recorder", "recordRewards", 0, accounts, amounts, ROOT)


@pytest.mark.parametrize("who", ["admin", "spender", "binder", "guardian", "wanda"])
def test_only_the_recorder_records(evm: Evm, who: str) -> None:
    evm.refused("AccessControlUnauthorizedAccount", who, "recordRewards", 0, [ADA], [HYD], ROOT)


def test_the_window_takes_its_cap_to_the_last_nano_and_no_more(evm: Evm) -> None:
    evm.wait(DAY - evm.now() % DAY)  # to the start of a window
    record(evm, 0, [ADA], [CAP - NANO])
    evm.refused("WindowCapExceeded", "recorder", "recordRewards", 1, [ADA], [2 * NANO], ROOT)
    record(evm, 1, [ADA], [NANO])
    assert evm.ask("windowLeft") == 0
    evm.refused("WindowCapExceeded", "recorder", "recordRewards", 2, [ADA], [NANO], ROOT)


def test_the_next_window_starts_with_the_whole_cap(evm: Evm) -> None:
    record(evm, 0, [ADA], [CAP])
    evm.wait(DAY)
    assert evm.ask("windowLeft") == CAP
    record(evm, 1, [ADA], [CAP])
    assert evm.totals().recorded == 2 * CAP


@pytest.mark.parametrize("limits", [{"window_s": 0}, {"window_cap": 0}])
def test_a_deployment_without_a_window_is_refused(evm: Evm, limits: dict[str, int]) -> None:
    sent = (
        evm.factory().constructor(evm.setup(**limits)).transact({"from": evm.at["admin"], "gas": 6_000_000})
    )
    assert evm.w3.eth.get_transaction_receipt(sent)["status"] == 0
