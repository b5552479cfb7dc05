"""Registering, tokens, and who the caller is. The rules for accounts are allauth's, as on the pages."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import SignupForm
from allauth.account.models import EmailAddress
from allauth.account.utils import has_verified_email
from allauth.mfa.base.forms import BaseAuthenticateForm
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.auth import caller_of, scopes_of
from marketplace.api.errors import Refused
from marketplace.api.serializers import accounts as shapes
from marketplace.api.throttles import RegisterThrottle, SignInThrottle
from marketplace.api.views.base import View
from marketplace.models import ApiToken, User
from marketplace.services import accounts


class Register(View):
    authentication_classes = []
    permission_classes = [AllowAny]
    throttle_classes = [RegisterThrottle]

    @extend_schema(
        summary="Register an account",
        description="Closed on deployments where people register on the pages only: 404.",
        request=shapes.RegisterIn,
        responses={201: shapes.RegisterOut},
        tags=["accounts"],
    )
    def post(self, request: Request) -> Response:
        if not settings.HYDRA_OPEN_REGISTRATION_API:
            raise Http404
        wish = self.read(shapes.RegisterIn)
        _register(request._request, wish)
        verification = settings.ACCOUNT_EMAIL_VERIFICATION
        return Response({"email": wish["email"], "verification": verification}, status=201)


def _register(request: HttpRequest, wish: dict[str, Any]) -> None:
    """Raises: ValidationError by allauth's rules. An address already taken gets a mail where those hide it."""
    password = wish["password"]
    form = SignupForm(data={"email": wish["email"], "password1": password, "password2": password})
    if not form.is_valid():
        names = {"password1": "password", "password2": "password", "__all__": "non_field_errors"}
        raise ValidationError({names.get(name, name): list(said) for name, said in form.errors.items()})
    with transaction.atomic():
        user, _ = form.try_save(request)
        if user is None:
            return
        User.objects.filter(pk=user.pk).update(display_name=wish["display_name"])
    if settings.ACCOUNT_EMAIL_VERIFICATION != "none":
        EmailAddress.objects.get(user=user, email__iexact=wish["email"]).send_confirmation(
            request, signup=True
        )


class Tokens(View):
    authentication_classes = []
    permission_classes = [AllowAny]
    throttle_classes = [SignInThrottle]

    @extend_schema(
        summary="Get a token for an e-mail and password",
        description="The secret is shown this once. 401 `bad_credentials`; 401 `code_needed` where the account has "
        "two-factor login and `code` is missing or wrong; 403 `email_unverified` where the address must be confirmed.",
        request=shapes.TokenIn,
        responses={201: shapes.TokenOut},
        tags=["accounts"],
    )
    def post(self, request: Request) -> Response:
        wish = self.read(shapes.TokenIn)
        user = _authenticate(request._request, wish)
        chosen = {name: wish[name] for name in ("name", "scopes", "expires_at")}
        token, secret = accounts.issue_token(user, **chosen)
        return Response(shapes.TokenOut(token, context={"secret": secret}).data, status=201)


def _authenticate(request: HttpRequest, wish: dict[str, Any]) -> User:
    """Password, second factor and confirmed address, each as strictly as the login page. Raises: Refused."""
    adapter = get_adapter(request)
    try:
        user = adapter.authenticate(request, email=wish["email"], password=wish["password"])
    except forms.ValidationError:
        raise Refused(
            429, "throttled", "Too many failed tries; wait some minutes.", retry_after_s=300
        ) from None
    if not isinstance(user, User) or not user.is_active:
        raise Refused(401, "bad_credentials", "The e-mail address or the password is wrong.")
    if (
        is_mfa_enabled(user)
        and not BaseAuthenticateForm({"code": wish.get("code", "")}, user=user).is_valid()
    ):
        raise Refused(401, "code_needed", "This account has two-factor login: send a valid one-time `code`.")
    if settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory" and not has_verified_email(user):
        raise Refused(403, "email_unverified", "Confirm the e-mail address by the link in the mail first.")
    return user


class Me(View):
    scopes = {"GET": ApiToken.SCOPES}

    @extend_schema(summary="Who is calling", responses=shapes.Me, tags=["accounts"])
    def get(self, request: Request) -> Response:
        user = caller_of(request)
        return Response(
            {
                "id": user.public_id,
                "email": user.email,
                "display_name": user.display_name,
                "moderator": user.is_moderator,
                "sponsor": user.is_sponsor,
                "scopes": sorted(scopes_of(request)),
            }
        )


class RevokeToken(View):
    scopes = {"POST": ApiToken.SCOPES}

    @extend_schema(
        summary="End the token of this call",
        description="For a program that signs out, or a token that leaked. A session is left alone (400).",
        request=None,
        responses={204: None},
        tags=["accounts"],
    )
    def post(self, request: Request) -> Response:
        if not isinstance(request.auth, ApiToken):
            raise Refused(400, "invalid", "This call carries no token.")
        accounts.revoke_token(caller_of(request), request.auth.public_id)
        return Response(status=204)
