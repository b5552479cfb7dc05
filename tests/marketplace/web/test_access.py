"""Each page for each of the cast: seen, sent to the login, refused, or as if it were not there."""

import pytest

from tests.marketplace.web.pages import PAGES


@pytest.mark.parametrize("who", ["", "ada", "ben", "cleo", "eve"])
def test_pages_open_for_those_who_may_see_them(who, world) -> None:
    client = world.client(who)
    answers = {page.name: client.get(page.address(world)) for page in PAGES}
    assert {name: answer.status_code for name, answer in answers.items()} == {
        page.name: page.status(who) for page in PAGES
    }
    sent_away = [answer["Location"] for answer in answers.values() if answer.status_code == 302]
    assert all(address.startswith("/accounts/login/?next=/") for address in sent_away)
    assert len(sent_away) == sum(page.status(who) == 302 for page in PAGES)


@pytest.mark.parametrize("who", ["ben", "eve", ""])
def test_a_draft_is_only_its_owners(who, world) -> None:
    world.campaign.__class__.objects.update(state="draft")
    assert world.client(who).get(f"/campaigns/{world.campaign.slug}/").status_code == 404
    assert world.client("ada").get(f"/campaigns/{world.campaign.slug}/").status_code == 200


BUTTONS = [
    "/campaigns/{c}/open/", "/campaigns/{c}/close/", "/campaigns/{c}/fund/", "/campaigns/{c}/release/",
]  # fmt: skip


@pytest.mark.parametrize("address", BUTTONS)
@pytest.mark.parametrize("who, status", [("", 302), ("ben", 403), ("eve", 403)])
def test_the_sponsors_buttons_refuse_others(address, who, status, world) -> None:
    before = world.campaign.state
    response = world.client(who).post(address.format(c=world.campaign.slug), {"amount": "5"})
    world.campaign.refresh_from_db()
    assert (response.status_code, world.campaign.state) == (status, before)
    assert world.campaign.releases.count() == 1


@pytest.mark.parametrize("address", [*BUTTONS, "/moderation/many/", "/network/code/"])
def test_a_button_does_nothing_on_get(address, world) -> None:
    assert world.client("ada").get(address.format(c=world.campaign.slug)).status_code == 405


def test_the_name_of_a_member_never_shows_an_address(world) -> None:
    page = world.client("ada").get(f"/submissions/{world.submission.public_id}/").content.decode()
    assert "ben" in page
    assert "ben@example.org" not in page
