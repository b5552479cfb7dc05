"""Who is calling, and which scopes the call carries: bearer tokens, sessions, and the permission that compares.

Tokens are looked up by `services.accounts`, by the hash of 256 random bits: timing tells nothing of use.
What a caller may see of the objects behind a door is `visibility`'s.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from marketplace.models import ApiToken, User
from marketplace.services.accounts import authenticate_token

if TYPE_CHECKING:  # DRF loads this module while it defines its views
    from rest_framework.views import APIView

LAST_USED_EVERY = timedelta(minutes=1)  # a write per request would make every read a write


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer hyd_…`. A request without that header is left to session authentication."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"bearer":
            return None
        if len(parts) != 2:
            raise AuthenticationFailed("Send the header as: Authorization: Bearer hyd_…")
        token = authenticate_token(parts[1].decode("latin-1"), timezone.now())
        if token is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked.")
        _note_use(token, timezone.now())
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="hydra"'


def _note_use(token: ApiToken, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at >= LAST_USED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def caller_of(request: Request) -> User:
    """The person behind a call that HasScope let through. Raises: NotAuthenticated where there is none."""
    if not isinstance(request.user, User):
        raise NotAuthenticated
    return request.user


def scopes_of(request: Request) -> frozenset[str]:
    """The scopes of this call. A session may do what its person may; `peer` and `backbone` are for programs only."""
    user = request.user
    if not user.is_authenticated:
        return frozenset()
    granted = (
        set(request.auth.scopes) if isinstance(request.auth, ApiToken) else {"read", "write", "moderate"}
    )
    if "moderate" in granted and not user.is_moderator:
        granted.discard("moderate")
    return frozenset(granted)


def scopes_needed(view: "APIView", method: str) -> Sequence[str]:
    """Any one of these opens `method` of the view; its `scopes` attribute overrides the rule."""
    method = "GET" if method == "HEAD" else method  # DRF answers HEAD with the view's get
    declared: dict[str, Sequence[str]] = getattr(view, "scopes", {})
    if method in declared:
        return declared[method]
    return ("read",) if method in SAFE_METHODS else ("write",)


class HasScope(BasePermission):
    """Reading needs `read`, everything else `write`, unless the view names other scopes or lets anyone read."""

    code = "scope"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        method = request.method or "GET"
        if not request.user.is_authenticated:
            return method in SAFE_METHODS and getattr(view, "public", False)
        needed = scopes_needed(view, method)
        self.message = f"This call needs the scope {' or '.join(needed)}."
        return bool(scopes_of(request) & set(needed))
