"""Roles, the admin's delayed change of hands, and the pause that ends by itself."""

import pytest

from tests.ledger.contracts.evm import ADA, ADMIN_DELAY, BOB, DAY, HYD, JOB, NOBODY, ROOT, Evm

WEEK = 7 * DAY


def test_each_role_has_one_holder_from_the_start(evm: Evm) -> None:
    for role in ("recorder", "spender", "binder", "guardian"):
        role_id = evm.ask(f"{role.upper()}_ROLE")
        holders = [name for name in evm.NAMES if evm.ask("hasRole", role_id, evm.at[name])]
        assert holders == [role]


def test_the_admin_replaces_a_role_holder(evm: Evm) -> None:
    role = evm.ask("RECORDER_ROLE")
    evm.do("admin", "grantRole", role, evm.at["otto"])
    evm.do("admin", "revokeRole", role, evm.at["recorder"])
    evm.do("otto", "recordRewards", 0, [ADA], [HYD], ROOT)
    evm.refused("AccessControlUnauthorizedAccount", "recorder", "recordRewards", 1, [ADA], [HYD], ROOT)


@pytest.mark.parametrize("who", ["recorder", "spender", "binder", "guardian", "wanda"])
def test_nobody_else_grants_roles(evm: Evm, who: str) -> None:
    evm.refused("AccessControlUnauthorizedAccount", who, "grantRole", evm.ask("RECORDER_ROLE"), evm.at[who])


def test_the_admin_changes_hands_in_two_steps(evm: Evm) -> None:
    evm.do("admin", "beginDefaultAdminTransfer", evm.at["otto"])
    evm.refused("AccessControlEnforcedDefaultAdminDelay", "otto", "acceptDefaultAdminTransfer")
    evm.wait(ADMIN_DELAY + 1)
    evm.refused("AccessControlInvalidDefaultAdmin", "wanda", "acceptDefaultAdminTransfer")
    evm.do("otto", "acceptDefaultAdminTransfer")
    assert evm.ask("defaultAdmin") == evm.at["otto"]


def test_the_admin_role_cannot_be_granted_around_the_delay(evm: Evm) -> None:
    evm.refused("AccessControlEnforcedDefaultAdminRules", "admin", "grantRole", bytes(32), evm.at["otto"])


def bring_to_pause(evm: Evm) -> None:
    """wanda holds tokens and a bound account, ADA has credits, a locked job and a pending binding; then all stops."""
    evm.reward(BOB, 5 * HYD)
    evm.bind(BOB, "wanda")
    evm.do("wanda", "withdraw", BOB, 2 * HYD)
    evm.lock_job(ADA, 4 * HYD)
    evm.give_credits(ADA, HYD)
    evm.reward(ADA, HYD)
    evm.do("binder", "requestBind", ADA, evm.at["otto"], *evm.sign_bind(ADA, "otto"))
    evm.do("guardian", "pause", WEEK)


def steps(evm: Evm) -> list[tuple]:
    return [
        ("recorder", "recordRewards", 99, [ADA], [HYD], ROOT),
        ("spender", "unlock", ADA, HYD, b"o" * 32),
        ("spender", "lock", ADA, b"k" * 32, HYD),
        ("spender", "settle", JOB, HYD),
        ("spender", "payWorkers", JOB, 0, [BOB], [HYD]),
        ("spender", "release", JOB),
        ("wanda", "deposit", ADA, HYD),
        ("wanda", "withdraw", BOB, HYD),
        ("wanda", "unlock", BOB, HYD, b"o" * 32),
        ("wanda", "unbind", BOB),
        ("wanda", "transfer", evm.at["otto"], HYD),
        ("binder", "requestBind", b"x" * 32, evm.at["recorder"], *evm.sign_bind(b"x" * 32, "recorder")),
        ("binder", "finalizeBind", ADA),
    ]


def test_while_paused_nothing_moves(evm: Evm) -> None:
    bring_to_pause(evm)
    before = evm.totals()
    for step in steps(evm):
        evm.refused("Paused", *step)
    assert evm.totals() == before


def test_the_pause_ends_by_itself_and_what_was_refused_then_works(evm: Evm) -> None:
    bring_to_pause(evm)
    evm.wait(WEEK)
    assert not evm.ask("paused")
    for step in steps(evm):
        if step[1] not in (
            "payWorkers",
            "release",
        ):  # the one needs the settled job, the other an unsettled one
            evm.function(*step[1:]).call({"from": evm.at[step[0]]})


def test_a_veto_works_while_paused(evm: Evm) -> None:
    bring_to_pause(evm)
    evm.do("guardian", "cancelBind", ADA)
    assert evm.ask("pendingBind", ADA)[0] == NOBODY


def test_the_guardian_ends_a_pause_early(evm: Evm) -> None:
    evm.do("guardian", "pause", WEEK)
    evm.do("guardian", "unpause")
    evm.reward(ADA, HYD)
    evm.refused("NotPaused", "guardian", "unpause")


@pytest.mark.parametrize("duration", [0, WEEK + 1, 2**256 - 1])
def test_a_pause_has_a_length(evm: Evm, duration: int) -> None:
    evm.refused("BadPause", "guardian", "pause", duration)


def test_a_pause_cannot_be_prolonged_while_it_holds(evm: Evm) -> None:
    evm.do("guardian", "pause", DAY)
    evm.refused("Paused", "guardian", "pause", WEEK)


@pytest.mark.parametrize("who", ["admin", "recorder", "spender", "binder", "wanda"])
def test_only_the_guardian_pauses(evm: Evm, who: str) -> None:
    evm.refused("AccessControlUnauthorizedAccount", who, "pause", DAY)
    evm.refused("AccessControlUnauthorizedAccount", who, "unpause")
