"""Balances, statement, unlocking and totals, on the real books and a chain in memory."""

import pytest

from ledger import service as ledger
from marketplace.models import User
from tests.ledger.world import World, reward

from .conftest import Caller, caller

HYD = 10**9


@pytest.fixture
def world(db) -> World:
    world = World()
    ledger.fund_campaign("campaign:one", 1000 * HYD, key="fund")
    return world


def earn(world: World, user: User, amount: int = 10 * HYD, key: str = "r1") -> None:
    reward(key, user.ledger_ref, amount)
    world.settle()


def test_a_newcomer_holds_nothing(ben):
    balance = caller(ben).ask("rewards/balance").json()
    assert set(balance) >= {"pending", "available", "credits", "locked"}
    assert all(amount == {"nano": 0, "hyd": "0"} for amount in balance.values())


def test_a_reward_is_pending_then_available(ben, world):
    reward("r1", ben.ledger_ref, 10 * HYD)
    assert caller(ben).ask("rewards/balance").json()["pending"]["hyd"] == "10"
    world.settle()
    balance = caller(ben).ask("rewards/balance").json()
    assert (balance["pending"]["hyd"], balance["available"]["hyd"]) == ("0", "10")


def test_unlocking_takes_tokens_and_gives_credits_when_confirmed(ben, world):
    earn(world, ben)
    client = caller(ben)
    answer = client.send("rewards/unlock", {"amount_nano": 4 * HYD}, key="u")
    assert answer.status_code == 201
    assert answer.json()["amount"] == {"nano": 4 * HYD, "hyd": "4"}
    assert answer.json()["balance"]["available"]["hyd"] == "6"
    assert client.send("rewards/unlock", {"amount_nano": 4 * HYD}, key="u").json() == answer.json()
    assert client.send("rewards/unlock", {"amount_nano": 5 * HYD}, key="u").status_code == 422
    world.settle()
    balance = client.ask("rewards/balance").json()
    assert (balance["credits"]["hyd"], balance["unlocking"]["hyd"], balance["available"]["hyd"]) == (
        "4",
        "0",
        "6",
    )


def test_more_than_available_is_409_and_changes_nothing(ben, world):
    earn(world, ben)
    answer = caller(ben).send("rewards/unlock", {"amount_nano": 11 * HYD})
    assert (answer.status_code, answer.json()["code"]) == (409, "insufficient_funds")
    assert ledger.balances(ben.ledger_ref).available == 10 * HYD


@pytest.mark.parametrize("body", [{}, {"amount_nano": 0}, {"amount_nano": "1.5"}, {"amount_nano": 10**30}])
def test_a_bad_amount_is_400(ben, body):
    answer = caller(ben).send("rewards/unlock", body)
    assert answer.status_code == 400
    assert "amount_nano" in answer.json()["fields"]


def test_the_statement_pages_back_in_time_and_is_one_s_own(ben, eve, world):
    for number in range(3):
        earn(world, ben, HYD, key=f"r{number}")
    first = caller(ben).ask("rewards/statement?limit=2").json()
    rest = caller(ben).get(first["next"]).json()
    ids = [line["id"] for line in first["results"] + rest["results"]]
    whole = caller(ben).ask("rewards/statement?limit=200").json()
    assert len(first["results"]) == 2 and ids == [line["id"] for line in whole["results"]][: len(ids)]
    assert ids == sorted(ids, reverse=True)
    assert whole["next"] is None
    assert {line["kind"] for line in whole["results"]} == {"reward"}
    assert caller(ben).ask("rewards/statement?kind=unlock").json()["results"] == []
    assert caller(eve).ask("rewards/statement").json()["results"] == []


@pytest.mark.parametrize(
    "query", ["kind=all", "limit=0", "limit=201", "page=2", "before=x", f"before={2**63}"]
)
def test_a_bad_query_is_400(ben, query):
    assert caller(ben).ask(f"rewards/statement?{query}").status_code == 400


def test_totals_are_public_and_name_nobody(ben, world):
    earn(world, ben)
    answer = Caller().ask("ledger/totals")
    assert answer.status_code == 200
    assert answer.json()["chain"]["recorded"] == 10 * HYD
    assert str(ben.public_id) not in answer.content.decode()


@pytest.mark.parametrize("path", ["rewards/balance", "rewards/statement"])
def test_balances_need_the_scope_read(ben, path):
    assert Caller().ask(path).status_code == 401
    assert caller(ben, "write").ask(path).status_code == 403
