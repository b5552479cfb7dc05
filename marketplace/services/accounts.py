"""Bearer tokens: issued once, kept as a hash, revoked by their owner."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from marketplace.errors import InvalidInput, NotAllowed
from marketplace.models import ApiToken, User
from marketplace.selectors.lookup import get_one

# Scopes a person may put on a token of their own; the other two are issued by enrolment and by the operator.
PERSONAL_SCOPES = frozenset({"read", "write", "moderate"})


def issue_token(
    user: User,
    *,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    allowed: frozenset[str] = PERSONAL_SCOPES,
) -> tuple[ApiToken, str]:
    """A token and its secret, which is shown this once.

    Raises: InvalidInput (name, scopes, expires_at); NotAllowed where the scope is not the person's to give.
    """
    wanted = _check_scopes(scopes, allowed)
    if "moderate" in wanted and not user.is_moderator:
        raise NotAllowed("Only moderators can issue a token with the scope moderate.")
    name = name.strip()
    if not 1 <= len(name) <= 80:
        raise InvalidInput(
            "A token needs a name of at most 80 characters.", fields={"name": "1 to 80 characters"}
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput(
            "The token would already be expired.", fields={"expires_at": "a time in the future"}
        )
    secret = f"hyd_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        user=user, name=name, scopes=wanted, expires_at=expires_at, digest=ApiToken.digest_of(secret)
    )
    return token, secret


def _check_scopes(scopes: Sequence[str], allowed: frozenset[str]) -> list[str]:
    wanted = list(dict.fromkeys(scopes))
    if not wanted:
        raise InvalidInput(
            "Name at least one scope.", fields={"scopes": f"some of {', '.join(sorted(allowed))}"}
        )
    if unknown := [scope for scope in wanted if scope not in allowed]:
        message = f"Unknown scope {unknown[0]!r}."
        raise InvalidInput(message, fields={"scopes": f"only {', '.join(sorted(allowed))}"})
    return wanted


def revoke_token(user: User, public_id: object, *, now: datetime | None = None) -> ApiToken:
    """Ends a token of the user's own; ending it twice changes nothing. Raises: NotFound."""
    token = get_one(ApiToken.objects.filter(user=user), public_id)
    if token.revoked_at is None:
        token.revoked_at = now or timezone.now()
        token.save(update_fields=["revoked_at"])
    return token


def authenticate_token(secret: str, now: datetime) -> ApiToken | None:
    """The usable token with this secret, with its user; None for unknown, expired, revoked or a disabled account."""
    token = ApiToken.objects.select_related("user").filter(digest=ApiToken.digest_of(secret)).first()
    if token is None or not token.is_usable(now) or not token.user.is_active:
        return None
    return token
