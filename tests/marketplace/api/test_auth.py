"""Tokens, sessions and scopes at the API's front."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from marketplace.models import ApiToken, User
from tests.marketplace.world import PASSWORD, make_user

from .conftest import DRAFT, Caller, caller, token_for


def test_a_token_says_who_is_calling(ben):
    answer = caller(ben, "read").ask("me")
    assert answer.status_code == 200
    assert answer.json()["email"] == "ben@example.org"
    assert answer.json()["scopes"] == ["read"]


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer hyd_unknown", "Bearer \xff"])
def test_a_wrong_token_is_401_and_says_how(db, header):
    answer = Client(headers={"Authorization": header}).get("/api/v1/me")
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_no_credentials_is_401(db):
    assert Caller().ask("me").status_code == 401


def test_an_expired_token_is_401_and_a_running_one_is_not(ben):
    now = timezone.now()
    late = token_for(ben, "read", expires_at=now - timedelta(seconds=1))
    assert Caller(late).ask("me").status_code == 401
    ApiToken.objects.update(expires_at=now + timedelta(hours=1))
    assert Caller(late).ask("me").status_code == 200


def test_a_token_of_a_disabled_account_is_401(ben):
    client = caller(ben)
    User.objects.filter(pk=ben.pk).update(is_active=False)
    assert client.ask("me").status_code == 401


def test_use_is_noted_at_most_once_a_minute(ben):
    client = caller(ben)
    client.ask("me")
    first = ApiToken.objects.get().last_used_at
    client.ask("me")
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=1))
    client.ask("me")
    assert ApiToken.objects.get().last_used_at > first


def test_a_read_token_may_not_write(ada):
    answer = caller(ada, "read").send("campaigns", DRAFT)
    assert answer.status_code == 403
    assert answer.json() == {"code": "scope", "message": "This call needs the scope write."}


def test_a_write_token_may_not_read(ben):
    assert caller(ben, "write").ask("campaigns").status_code == 403


def test_the_scope_moderate_without_the_role_opens_nothing(ben, cleo):
    assert caller(ben, "read", "moderate").ask("moderation/queue").status_code == 403
    assert caller(cleo, "read", "moderate").ask("moderation/queue").status_code == 200
    assert caller(cleo, "read", "write").ask("moderation/queue").status_code == 403


def test_a_session_may_read_and_needs_a_csrf_token_to_write(ada):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.get("/api/v1/me").status_code == 200
    path, body = "/api/v1/campaigns", DRAFT
    refused = client.post(path, body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    client.get("/accounts/login/")
    client.cookies["csrftoken"] = token = "a" * 32
    allowed = client.post(path, body, content_type="application/json", headers={"X-CSRFToken": token})
    assert allowed.status_code == 201


@pytest.mark.parametrize("scope", ["peer", "backbone"])
def test_a_session_never_carries_a_program_s_scope(ben, scope):
    client = Client()
    client.force_login(ben)
    assert scope not in client.get("/api/v1/me").json()["scopes"]


def _sign_in(**changes):
    body = {"email": "ben@example.org", "password": PASSWORD, "name": "laptop", "scopes": ["read"], **changes}
    return Caller().send("auth/token", body)


def test_a_password_gets_a_token_that_works(ben):
    answer = _sign_in()
    assert answer.status_code == 201
    secret = answer.json()["token"]
    assert secret.startswith("hyd_")
    assert Caller(secret).ask("me").json()["email"] == "ben@example.org"


@pytest.mark.parametrize(
    "changes,status,code",
    [
        ({"password": "wrong"}, 401, "bad_credentials"),
        ({"email": "nobody@example.org"}, 401, "bad_credentials"),
        ({"scopes": []}, 400, "invalid"),
        ({"scopes": ["everything"]}, 400, "invalid"),
        ({"scopes": ["backbone"]}, 400, "invalid"),
        ({"scopes": ["moderate"]}, 403, "forbidden"),
        ({"name": ""}, 400, "invalid"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, 400, "invalid"),
    ],
)
def test_a_token_is_refused_with_a_reason(ben, changes, status, code):
    answer = _sign_in(**changes)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not ApiToken.objects.exists()


def test_guessing_a_password_is_slowed_down(ben):
    statuses = [_sign_in(password="wrong").status_code for _ in range(7)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert _sign_in().status_code == 429


def test_two_factor_login_is_asked_for_here_too(ben):
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
    from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret

    TOTP.activate(ben, generate_totp_secret())
    code = RecoveryCodes.activate(ben).get_unused_codes()[0]
    assert _sign_in().json()["code"] == "code_needed"
    assert _sign_in(code="000000").status_code == 401
    assert _sign_in(code=code).status_code == 201
    assert _sign_in(code=code).status_code == 401


def test_an_unconfirmed_address_gets_no_token_where_that_is_mandatory(ben, settings):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    assert _sign_in().json()["code"] == "email_unverified"
    ben.emailaddress_set.create(email=ben.email, verified=True, primary=True)
    assert _sign_in().status_code == 201


def test_registering_makes_an_account_and_sends_a_mail(db, mailoutbox):
    answer = Caller().send("auth/register", {"email": "New@example.org", "password": PASSWORD})
    assert answer.status_code == 201
    assert User.objects.get(email="new@example.org").check_password(PASSWORD)
    assert len(mailoutbox) == 1


@pytest.mark.parametrize(
    "body,place",
    [
        ({"email": "new@example.org", "password": "short"}, "password"),
        ({"email": "new@example.org", "password": "password123"}, "password"),
        ({"email": "not an address", "password": PASSWORD}, "email"),
        ({"password": PASSWORD}, "email"),
        ({"email": "ben@example.org", "password": PASSWORD}, "email"),
    ],
)
def test_a_bad_registration_names_the_place(ben, body, place):
    answer = Caller().send("auth/register", body)
    assert answer.status_code == 400
    assert place in answer.json()["fields"]
    assert User.objects.count() == 1


def test_registering_can_be_closed(db, settings):
    settings.HYDRA_OPEN_REGISTRATION_API = False
    answer = Caller().send("auth/register", {"email": "new@example.org", "password": PASSWORD})
    assert answer.status_code == 404
    assert not User.objects.exists()


def test_registering_is_throttled(db, monkeypatch):
    from marketplace.api.throttles import RegisterThrottle

    monkeypatch.setattr(RegisterThrottle, "THROTTLE_RATES", {"register": "2/min"})
    answers = [Caller().send("auth/register", {}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [400, 400, 429]
    assert int(answers[2]["Retry-After"]) > 0


def test_a_token_can_end_itself(ben):
    client = caller(ben, "read")
    assert client.send("auth/revoke").status_code == 204
    assert client.ask("me").status_code == 401


def test_a_session_has_no_token_to_end(db):
    client = Client()
    client.force_login(make_user("fay"))
    assert client.post("/api/v1/auth/revoke").status_code == 400
