"""API tokens: made here, shown once, revoked here."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from marketplace.errors import MarketError
from marketplace.services import accounts
from marketplace.web.doors import button, member_page, show_on_form
from marketplace.web.forms.token import TokenForm


@member_page
def index(request: HttpRequest) -> HttpResponseBase:
    user: Any = request.user
    now = timezone.now()
    form, secret = TokenForm(user, request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            _token, secret = accounts.issue_token(
                user, name=data["name"], scopes=data["scopes"], expires_at=form.expires_at(now)
            )
        except MarketError as error:
            show_on_form(form, error)
        else:
            form = TokenForm(user)
    context = {
        "form": form,
        "secret": secret,
        "tokens": [(one, one.is_usable(now)) for one in user.api_tokens.all()],
    }
    response = render(request, "marketplace/tokens.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@button("web:tokens")
def revoke(request: HttpRequest, public_id: str) -> HttpResponseBase:
    user: Any = request.user
    token = accounts.revoke_token(user, public_id)
    messages.success(request, _("The token “%(name)s” no longer works.") % {"name": token.name})
    return redirect("web:tokens")
