"""Retries where they are safe and nowhere else, errors as the API means them, pages, and where a token may go."""

import httpx
import pytest

from client import errors
from client.errors import error_of
from client.transport import LONGEST_WAIT_S, Patience, checked_url
from tests.client.portal import URL, Portal, answer, refusal

BUSY = refusal(503, "busy")


def test_a_call_carries_the_token_and_goes_below_the_api():
    portal = Portal([answer({"email": "ben@example.org"})])
    assert portal.hydra.account.me() == {"email": "ben@example.org"}
    (request,) = portal.requests
    assert str(request.url) == f"{URL}/api/v1/me"
    assert request.headers["Authorization"] == "Bearer hyd_secret"


@pytest.mark.parametrize(
    "passing",
    [
        BUSY,
        refusal(502, "x"),
        httpx.Response(504, text="<html>"),
        httpx.ReadTimeout("slow"),
        httpx.ConnectError("no"),
    ],
)
def test_reading_is_tried_again_until_it_works(passing):
    portal = Portal([passing, passing, answer({"ok": 1})])
    assert portal.hydra.account.me() == {"ok": 1}
    assert portal.waits == [0.5, 1.0]


def test_it_gives_up_after_the_agreed_number_of_tries():
    portal = Portal([httpx.ConnectError("refused")] * 9, tries=3)
    with pytest.raises(errors.Unreachable, match="refused") as caught:
        portal.hydra.account.me()
    assert caught.value.retry
    assert len(portal.requests) == 3 and len(portal.waits) == 2


@pytest.mark.parametrize(
    "lost",
    [BUSY, httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("broken"), refusal(409, "in_progress")],
)
def test_a_post_is_repeated_with_the_same_key_and_body(lost):
    portal = Portal([lost, answer({"slug": "digits"})])
    portal.hydra.campaigns.create({"title": "Digits"})
    first, second = portal.keys
    assert first and first == second
    assert portal.body(0) == portal.body(1) == {"title": "Digits"}


def test_two_posts_have_two_keys_and_a_given_key_is_used():
    portal = Portal([answer()] * 3)
    portal.hydra.campaigns.open("digits")
    portal.hydra.campaigns.open("digits")
    portal.hydra.campaigns.open("digits", key="mine")
    assert portal.keys[0] != portal.keys[1]
    assert portal.keys[2] == "mine"


@pytest.mark.parametrize("lost", [BUSY, httpx.ReadTimeout("slow")])
def test_a_post_without_a_key_is_not_repeated_once_it_may_have_arrived(lost):
    portal = Portal([lost, answer({"code": "1234"})])
    with pytest.raises(errors.HydraError):
        portal.hydra.network.code()
    assert portal.keys == [None]


@pytest.mark.parametrize("unsent", [httpx.ConnectError("no"), refusal(429, "throttled")])
def test_a_post_without_a_key_is_repeated_where_nothing_was_done(unsent):
    portal = Portal([unsent, answer({"code": "1234"})])
    assert portal.hydra.network.code() == {"code": "1234"}


def test_what_will_not_pass_is_not_tried_again():
    portal = Portal([refusal(409, "campaign_closed"), answer()])
    with pytest.raises(errors.Conflict):
        portal.hydra.campaigns.open("digits")
    assert len(portal.requests) == 1


def test_the_servers_wish_to_wait_is_kept_within_reason():
    assert Patience().wait_s(0, 7.0) == 7.0
    assert Patience().wait_s(0, 9_999.0) == LONGEST_WAIT_S
    portal = Portal(
        [
            httpx.Response(429, json={"code": "throttled", "message": "Slow."}, headers={"Retry-After": "3"}),
            answer(),
        ]
    )
    portal.hydra.account.me()
    assert portal.waits == [3.0]


@pytest.mark.parametrize("attempt", range(12))
def test_waits_double_with_jitter_up_to_half_a_minute(attempt):
    low, high = (Patience(chance=lambda draw=draw: draw).wait_s(attempt, None) for draw in (0.0, 1.0))
    assert high == min(0.5 * 2**attempt, LONGEST_WAIT_S) and low == high / 2


@pytest.mark.parametrize(
    "status, kind, retry",
    [
        (400, errors.InvalidRequest, False),
        (401, errors.Unauthenticated, False),
        (403, errors.Forbidden, False),
        (404, errors.NotFound, False),
        (409, errors.Conflict, False),
        (413, errors.InvalidRequest, False),
        (422, errors.InvalidRequest, False),
        (429, errors.Throttled, True),
        (500, errors.ServerError, True),
    ],
)
def test_each_status_has_its_error(status, kind, retry):
    response = refusal(status, "a_code", "Words.", fields={"title": ["Too long."]})
    error = error_of(response)
    assert type(error) is kind and error.retry is retry
    assert (error.status, error.code, str(error), error.fields) == (
        status,
        "a_code",
        "Words.",
        {"title": ["Too long."]},
    )


@pytest.mark.parametrize(
    "body", ["<html>", "[]", "{}", '{"code": 1}', '{"code": "a", "message": "b", "fields": [1]}']
)
def test_a_refusal_that_is_not_the_apis_is_said_to_be(body):
    request = httpx.Request("GET", URL)
    assert isinstance(error_of(httpx.Response(404, text=body, request=request)), errors.UnexpectedAnswer)
    assert isinstance(error_of(httpx.Response(502, text=body, request=request)), errors.ServerError)


@pytest.mark.parametrize(
    "strange",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(301, headers={"Location": "https://else.example"}),
    ],
)
def test_an_answer_that_is_not_the_apis_stops(strange):
    with pytest.raises(errors.UnexpectedAnswer, match="Is this the address of a Hydra portal"):
        Portal([strange]).hydra.account.me()


def test_pages_are_followed_at_our_own_address_only():
    elsewhere = "http://internal:8000/api/v1/campaigns?cursor=abc&state=open"
    portal = Portal([answer({"results": [1, 2], "next": elsewhere}), answer({"results": [3], "next": None})])
    assert [*portal.hydra.campaigns.list(state="open")] == [1, 2, 3]
    assert [str(request.url) for request in portal.requests] == [
        f"{URL}/api/v1/campaigns?state=open",
        f"{URL}/api/v1/campaigns?cursor=abc&state=open",
    ]


def test_a_list_without_results_stops():
    with pytest.raises(errors.UnexpectedAnswer, match="no results"):
        [*Portal([answer({"next": None})]).hydra.campaigns.list()]


@pytest.mark.parametrize(
    "given, kept",
    [
        ("http://localhost:8000/", "http://localhost:8000"),
        (" https://portal.example/api/v1 ", "https://portal.example"),
        ("https://portal.example/hydra", "https://portal.example/hydra"),
    ],
)
def test_an_address_is_tidied(given, kept):
    assert checked_url(given) == kept


@pytest.mark.parametrize("given", ["", "portal.example", "ftp://portal.example", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(given):
    with pytest.raises(errors.ConfigurationError, match="not an address"):
        checked_url(given)
