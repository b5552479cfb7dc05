"""The network's page with its one-time code, and API tokens that are shown once."""

import re

from marketplace.models import ApiToken, EnrolmentCode
from tests.marketplace.web.conftest import browser


def test_the_network_shows_names_and_no_addresses(job) -> None:
    page = browser().get("/network/").content.decode()
    assert "north" in page
    assert ">eve<" in page
    assert "@example.org" not in page


def test_a_code_is_shown_once_in_the_command(ben) -> None:
    response = browser(ben).post("/network/code/", headers={"HX-Request": "true"})
    page = response.content.decode()
    code = re.search(r"--code (\S+)</pre>", page).group(1)
    assert response["Cache-Control"] == "no-store"
    assert EnrolmentCode.objects.get().user == ben
    assert code not in browser(ben).get("/network/").content.decode()


def test_a_stranger_gets_no_code(db) -> None:
    assert browser().post("/network/code/").status_code == 302
    assert not EnrolmentCode.objects.exists()


def test_a_token_is_shown_once(ben) -> None:
    client = browser(ben)
    response = client.post("/tokens/", {"name": "laptop", "scopes": ["read", "write"], "days": "30"})
    secret = re.search(r"hyd_[\w-]+", response.content.decode()).group()
    token = ApiToken.objects.get(user=ben)
    assert token.digest == ApiToken.digest_of(secret)
    assert token.expires_at is not None
    assert secret not in client.get("/tokens/").content.decode()


def test_a_token_needs_a_name_and_a_scope(ben) -> None:
    page = browser(ben).post("/tokens/", {"name": "", "days": "30"}).content.decode()
    assert "Tick at least one." in page
    assert not ApiToken.objects.exists()


def test_moderate_is_offered_to_moderators_only(ben, cleo) -> None:
    assert 'value="moderate"' not in browser(ben).get("/tokens/").content.decode()
    assert 'value="moderate"' in browser(cleo).get("/tokens/").content.decode()
    browser(ben).post("/tokens/", {"name": "x", "scopes": ["moderate"], "days": "30"})
    assert not ApiToken.objects.exists()


def test_revoking_is_ones_own(ben, eve) -> None:
    browser(ben).post("/tokens/", {"name": "laptop", "scopes": ["read"], "days": "0"})
    token = ApiToken.objects.get()
    assert browser(eve).post(f"/tokens/{token.public_id}/revoke/").status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None
    browser(ben).post(f"/tokens/{token.public_id}/revoke/")
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_the_network_says_when_a_peer_was_seen_and_how_to_join(job) -> None:
    page = browser().get("/network/").content.decode()
    assert "just now" in page
    assert "0\xa0minutes" not in page
    assert "in a clone of this repository" in page
    assert "--host ADDRESS" in page
