"""What holds of every page: nothing inline, well-formed, labelled, one first heading, a way past the navigation."""

import re

import pytest

from tests.marketplace.web.conftest import browser
from tests.marketplace.web.pages import ACCOUNT_PAGES, LOGIN, MEMBER_ACCOUNT_PAGES, PAGES, Html


def assert_sound(text: str) -> None:
    html = Html(text)
    assert html.inline == []
    assert html.misnested == []
    assert html.open == []
    assert [one for one, times in html.ids.items() if times > 1] == []
    assert html.unlabelled == []
    assert html.pictures_without_words == []
    assert html.headings.count(1) == 1
    assert '<a class="skip-link" href="#content">' in text
    assert 'id="content"' in text


@pytest.mark.parametrize("who", ["", "ada", "ben", "cleo"])
def test_pages_are_sound(who, world) -> None:
    client = world.client(who)
    for page in PAGES:
        if page.status(who) != LOGIN:
            assert_sound(client.get(page.address(world)).content.decode())


def test_empty_pages_are_sound(ada, ben, cleo) -> None:
    """A person's first day: no campaign, nothing sent, nothing earned."""
    members = {"campaign-new": ada, "moderation": cleo}
    for page in PAGES:
        if not page.part:
            response = browser(members.get(page.name, ben)).get(page.address_without_world())
            assert response.status_code == 200, page.name
            assert_sound(response.content.decode())


@pytest.mark.parametrize("address", ACCOUNT_PAGES)
def test_the_entrance_is_sound(address, db) -> None:
    assert_sound(browser().get(address).content.decode())


@pytest.mark.parametrize("address", MEMBER_ACCOUNT_PAGES)
def test_the_accounts_pages_are_sound(address, ben) -> None:
    response = browser(ben).get(address)
    assert response.status_code == 200
    assert_sound(response.content.decode())


def test_the_content_policy_forbids_inline_code(db) -> None:
    policy = browser().get("/")["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "bad",
    [
        "<p style='color:red'>", "<style>p{}</style>", "<script>1</script>", "<a onclick='x()'>",
    ],
)  # fmt: skip
def test_the_reader_sees_inline_code(bad) -> None:
    assert Html(bad).inline


def test_every_cell_of_a_stacked_table_names_its_column(world) -> None:
    """On a phone the head is hidden, so a cell without a name is a bare number."""
    for address, who in (("/rewards/rows/accepted/", "ben"), ("/jobs/", "ben"), ("/network/", "ben"),
                         (f"/jobs/{world.job.public_id}/rounds/", "ben"), ("/rewards/", "ben"),
                         (f"/releases/{world.release.public_id}/", "ben")):  # fmt: skip
        page = world.client(who).get(address).content.decode()
        boxes = page.split('class="table-box')[1:]
        assert boxes, address
        for box in boxes:
            cells = re.findall(r"<td[^>]*>", box.split("</table>")[0])
            assert cells, address
            assert all('data-label="' in one or "colspan" in one for one in cells), (address, cells)
