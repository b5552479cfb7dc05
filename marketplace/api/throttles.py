"""How often the doors that hand out secrets may be knocked at; rates are in settings (DEFAULT_THROTTLE_RATES).

Guessing one account's password is slowed by allauth's own limits, which count failures per account.
"""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:
    from rest_framework.views import APIView


class ByAddress(SimpleRateThrottle):
    """Counts calls per client address, whoever is logged in."""

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class RegisterThrottle(ByAddress):
    scope = "register"


class SignInThrottle(ByAddress):
    scope = "sign_in"


class EnrolThrottle(ByAddress):
    scope = "enrol"
