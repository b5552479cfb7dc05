"""What a person sees when something cannot be served."""

import pytest
from django.test import Client, RequestFactory

from marketplace.web import errors
from tests.marketplace.web.conftest import browser
from tests.marketplace.web.test_markup import assert_sound


def test_a_missing_page_says_where_to_go(db) -> None:
    response = browser().get("/nowhere/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()
    assert_sound(response.content.decode())


def test_a_forbidden_page_names_the_reason(ben) -> None:
    response = browser(ben).get("/moderation/")
    assert response.status_code == 403
    assert "Judging items needs the moderator role" in response.content.decode()
    assert_sound(response.content.decode())


def test_a_failure_is_told_without_the_database() -> None:
    """No db fixture: a query here would fail the test."""
    response = errors.server_error(RequestFactory().get("/"))
    assert response.status_code == 500
    assert "Something failed on our side" in response.content.decode()
    assert "Traceback" not in response.content.decode()


def test_a_stale_form_is_explained(ben) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ben)
    response = strict.post("/tokens/", {"name": "x"})
    assert response.status_code == 403
    assert "This form was out of date" in response.content.decode()
    assert_sound(response.content.decode())


@pytest.mark.parametrize("address", ["/submissions/not-an-id/", "/jobs/00000000-0000-0000-0000-000000000000/", "/rewards/rows/nothing/"])  # fmt: skip
def test_a_wrong_id_is_a_missing_page(address, ben) -> None:
    assert browser(ben).get(address).status_code == 404


@pytest.mark.parametrize("address", ["/moderation/", "/campaigns/new/"])
def test_a_refusal_is_one_line_in_the_log(address, ben, caplog) -> None:
    assert browser(ben).get(address).status_code == 403
    lines = [one for one in caplog.records if one.name == "django.request"]
    assert [one.getMessage() for one in lines] == [f"Forbidden: {address}"]
    assert lines[0].exc_info is None


def test_a_failure_keeps_its_traceback(ben, caplog, monkeypatch) -> None:
    def fail(*_arguments, **_options):
        raise RuntimeError("broken")

    monkeypatch.setattr("marketplace.web.views.tokens.TokenForm", fail)
    client = browser(ben)
    client.raise_request_exception = False
    assert client.get("/tokens/").status_code == 500
    assert any(one.exc_info for one in caplog.records)


def test_an_operator_is_not_told_that_a_role_is_missing(django_user_model) -> None:
    root = django_user_model.objects.create_superuser("root@example.org", "a long password 1")
    page = browser(root).get("/admin/marketplace/campaign/add/").content.decode()
    assert "You may not open this page" in page
    assert "does not have the role" not in page
