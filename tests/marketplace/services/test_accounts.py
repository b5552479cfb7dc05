"""Tokens: the secret is shown once, works until revoked, and carries only what its person may give."""

from datetime import timedelta

import pytest
from django.utils import timezone

from marketplace.errors import InvalidInput, NotAllowed, NotFound
from marketplace.models import ApiToken
from marketplace.services.accounts import authenticate_token, issue_token, revoke_token

NOW = timezone.now()


def test_a_token_opens_until_it_is_revoked(ben):
    token, secret = issue_token(ben, name="cli", scopes=["read", "write", "read"])
    assert secret.startswith("hyd_") and token.scopes == ["read", "write"]
    assert not ApiToken.objects.filter(digest__contains=secret).exists()
    assert authenticate_token(secret, NOW) == token
    assert revoke_token(ben, token.public_id).revoked_at == revoke_token(ben, str(token.public_id)).revoked_at
    assert authenticate_token(secret, NOW) is None


def test_an_expired_token_and_a_disabled_account_are_refused(ben):
    _, secret = issue_token(ben, name="cli", scopes=["read"], expires_at=NOW + timedelta(hours=1))
    assert authenticate_token(secret, NOW + timedelta(hours=1)) is None
    assert authenticate_token(secret, NOW) is not None
    ben.is_active = False
    ben.save()
    assert authenticate_token(secret, NOW) is None


@pytest.mark.parametrize(
    "change, place",
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["backbone"]}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"name": "  "}, "name"),
        ({"expires_at": NOW - timedelta(days=1)}, "expires_at"),
    ],
)
def test_what_cannot_be_issued_says_why(ben, change, place):
    with pytest.raises(InvalidInput) as refused:
        issue_token(ben, **{"name": "cli", "scopes": ["read"], **change})
    assert place in refused.value.fields


def test_only_moderators_carry_moderate(ben, cleo):
    with pytest.raises(NotAllowed):
        issue_token(ben, name="cli", scopes=["moderate"])
    assert issue_token(cleo, name="cli", scopes=["moderate"])[0].scopes == ["moderate"]


@pytest.mark.parametrize("public_id", ["no uuid", "6f0f8e0e-0000-4000-8000-000000000000"])
def test_another_persons_token_looks_absent(ben, eve, public_id):
    token, _ = issue_token(ben, name="cli", scopes=["read"])
    for wanted in (public_id, token.public_id):
        with pytest.raises(NotFound):
            revoke_token(eve, wanted)
