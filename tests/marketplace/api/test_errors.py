"""Every refusal has one shape, and none shows a traceback."""

import json

import pytest
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.test import Client
from rest_framework.exceptions import ValidationError

from ledger import errors as ledger_errors
from marketplace import errors as market_errors
from marketplace.api.errors import handle_exception
from marketplace.api.views.base import JSON_BODY_BYTES

from .conftest import Caller, caller


@pytest.mark.parametrize("path", ["nothing", "campaigns/", "me/x", "campaigns/UPPER case"])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_unknown_path_is_404_in_json(db, path, method):
    answer = getattr(Client(), method)(f"/api/v1/{path}")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_a_wrong_method_is_405(ben):
    answer = caller(ben).send("me", method="put")
    assert (answer.status_code, answer.json()["code"]) == (405, "method")


def test_json_is_answered_whatever_was_accepted(db):
    answer = Client().get("/api/v1/campaigns", headers={"Accept": "text/html"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b"",
    ],
)
def test_an_unreadable_body_is_400(ada, body):
    answer = caller(ada).generic("POST", "/api/v1/campaigns", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["message"]


@pytest.mark.parametrize("body", [[], "text", 5, None, {"title": {}}, {"classes": "abc"}])
def test_a_body_of_another_shape_is_400(ada, body):
    answer = caller(ada).generic(
        "POST", "/api/v1/campaigns", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"


def test_a_body_over_the_limit_is_413_and_one_at_the_limit_is_read(ada):
    padded = b'{"title": "' + b"x" * JSON_BODY_BYTES + b'"}'
    answer = caller(ada).generic("POST", "/api/v1/campaigns", padded, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_big")
    fitting = b'{"title": "' + b"x" * (JSON_BODY_BYTES - 100) + b'"}'
    assert (
        caller(ada).generic("POST", "/api/v1/campaigns", fitting, content_type="application/json").status_code
        == 400
    )


def test_another_content_type_is_415(ada):
    answer = caller(ada).generic("POST", "/api/v1/campaigns", "title=x", content_type="text/plain")
    assert (answer.status_code, answer.json()["code"]) == (415, "media_type")


@pytest.mark.parametrize(
    "error,status,code",
    [
        (market_errors.WrongState("closed"), 409, "wrong_state"),
        (market_errors.FundsShort("few", had=1, asked=2), 409, "insufficient_funds"),
        (market_errors.NotFound(), 404, "not_found"),
        (market_errors.Unavailable("later"), 503, "unavailable"),
        (ledger_errors.KeyReused("k"), 422, "key_reused"),
        (ledger_errors.BudgetExhausted(5, 1), 409, "budget_exhausted"),
        (ledger_errors.ChainUnavailable("off"), 503, "chain_unavailable"),
        (RequestDataTooBig(), 413, "too_big"),
        (OperationalError("database is locked"), 503, "busy"),
    ],
)
def test_errors_of_the_packages_below_keep_their_meaning(error, status, code):
    answer = handle_exception(error, {})
    assert (answer.status_code, answer.data["code"]) == (status, code)
    assert answer.data["message"]
    assert ("Retry-After" in answer) == (status == 503)


@pytest.mark.parametrize("error", [ledger_errors.UnbalancedPosting("x", 1), ZeroDivisionError("secret")])
def test_our_own_mistakes_are_a_bare_500(error, caplog):
    answer = handle_exception(error, {})
    assert answer.status_code == 500
    assert "secret" not in str(answer.data)
    assert "unexpected error" in caplog.text


def test_nested_faults_are_named_by_their_place():
    error = ValidationError({"points": [{}, {"step": ["Too low."]}], "items": {"3": ["Not an id."]}})
    fields = handle_exception(error, {}).data["fields"]
    assert fields == {"points.1.step": ["Too low."], "items.3": ["Not an id."]}


def test_a_crash_in_a_door_answers_500_without_a_traceback(ben, monkeypatch):
    monkeypatch.setattr("marketplace.api.views.accounts.scopes_of", lambda request: 1 / 0)
    client = caller(ben)
    client.raise_request_exception = False
    answer = client.ask("me")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert b"ZeroDivision" not in answer.content


def test_anonymous_sees_open_campaigns_only(campaign):
    assert [one["slug"] for one in Caller().ask("campaigns").json()["results"]] == ["digits"]
    campaign.state = "draft"
    campaign.save()
    assert Caller().ask("campaigns").json() == {"results": [], "next": None}
