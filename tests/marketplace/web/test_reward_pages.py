"""Money: the dashboard, the rows behind it, unlocking, the statement."""

import csv
import io

import pytest

from ledger import service as ledger
from tests.marketplace.web.conftest import browser


@pytest.fixture
def earned(campaign, ben):
    """Ben has 2 HYD pending."""
    ledger.fund_campaign(campaign.ledger_ref, 10 * 10**9, key="fund")
    ledger.reserve_reward(
        ledger.RewardRequest(
            key="reward:1",
            campaign_ref=campaign.ledger_ref,
            beneficiary_ref=ben.ledger_ref,
            contribution_ref="item:1",
            amount=2 * 10**9,
            evidence_hash=b"e" * 32,
            policy_version="1",
        )
    )


def test_each_amount_leads_to_its_rows(earned, ben) -> None:
    page = browser(ben).get("/rewards/").content.decode()
    for label in ("Pending", "Available", "Credits", "Locked", "Spent", "On chain"):
        assert f'<span class="figure-label">{label}</span>' in page
    assert '<span class="figure-value">2</span>' in page
    assert browser(ben).get("/rewards/statement/?kind=reward").content.decode().count("<tr>") == 2
    assert "Earned, not final yet" in browser(ben).get("/rewards/statement/").content.decode()


def test_the_chart_has_its_table(submission, ben) -> None:
    page = browser(ben).get("/rewards/").content.decode()
    assert '<script id="earned-data" type="application/json">' in page
    assert "The same as a table" in page
    assert '<td data-label="Earned, HYD" class="num end">1.5</td>' in page


@pytest.mark.parametrize(
    "key, words", [("accepted", "accepted-0.png"), ("rewards", "On chain"), ("rejected", "Because of this.")]
)
def test_a_figures_rows(key, words, submission, ben) -> None:
    assert words in browser(ben).get(f"/rewards/rows/{key}/").content.decode()


@pytest.mark.parametrize(
    "form, words",
    [
        ({"amount": "5", "confirm": "on"}, "You have 0 HYD available, and asked for 5."),
        ({"amount": "1"}, "Tick the box to confirm"),
        ({"amount": "0", "confirm": "on"}, "At least 0.000000001 HYD."),
        ({"amount": "", "confirm": "on"}, "This field is required."),
    ],
)
def test_unlocking_is_refused_in_words(form, words, earned, ben) -> None:
    response = browser(ben).post("/rewards/unlock/", {**form, "key": "k"})
    assert response.status_code == 422
    assert words in response.content.decode()
    assert ledger.balances(ben.ledger_ref).unlocking == 0


def test_the_statement_as_csv(earned, ben, eve) -> None:
    def lines(user) -> list[list[str]]:
        response = browser(user).get("/rewards/statement.csv")
        return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))

    mine = lines(ben)
    assert mine[0][:4] == ["id", "at", "kind", "amount_hyd"]
    assert mine[1][2:4] == ["reward", "2"]
    assert len(lines(eve)) == 1


@pytest.mark.parametrize("state, count", [("receiving", 0), ("queued", 2)])
def test_items_of_an_unfinished_upload_do_not_wait(state, count, submission, ben) -> None:
    type(submission).objects.update(state=state)
    page = browser(ben).get("/rewards/").content.decode()
    assert f'Items waiting</span><span class="figure-value">{count}</span>' in page
