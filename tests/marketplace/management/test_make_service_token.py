"""The backbone's token: written once, private, replaced when it no longer works."""

import stat

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from marketplace.models import ApiToken, User
from marketplace.services.accounts import authenticate_token


@pytest.fixture
def path(tmp_path, db):
    return tmp_path / "keys" / "backbone-token"


def make(path) -> str:
    call_command("make_service_token", "--scope", "backbone", "--file", str(path), verbosity=0)
    return path.read_text().strip()


def test_the_token_works_and_only_its_owner_may_read_it(path, capsys):
    token = authenticate_token(make(path), timezone.now())
    assert token is not None and token.scopes == ["backbone"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not token.user.has_usable_password()


def test_a_second_run_keeps_it(path, capsys):
    assert make(path) == make(path)
    assert ApiToken.objects.count() == User.objects.count() == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda p: p.write_text("x"),
        lambda p: p.unlink(),
        lambda p: ApiToken.objects.update(revoked_at=timezone.now()),
    ],
)
def test_a_token_that_does_not_work_is_replaced_and_the_old_one_ends(path, spoil, capsys):
    old = make(path)
    spoil(path)
    new = make(path)
    assert new != old
    assert authenticate_token(old, timezone.now()) is None
    assert authenticate_token(new, timezone.now()) is not None


def test_other_scopes_are_not_made(path):
    with pytest.raises(CommandError):
        call_command("make_service_token", "--scope", "write", "--file", str(path))
