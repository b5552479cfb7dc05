"""How every page turns a refusal into what the person sees: 404, 403, a message, or words next to a field."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from marketplace.errors import MarketError, NotAllowed, NotFound
from marketplace.web.forms.places import in_words

View = Callable[..., HttpResponseBase]


def page(view: View) -> View:
    """What is absent or not theirs to see answers 404, what is not theirs to do 403, with the reason."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error
        except NotAllowed as error:
            raise PermissionDenied(error.message) from error

    return guarded


def member_page(view: View) -> View:
    """A page that needs a login."""
    return login_required(page(view))


def moderator_page(view: View) -> View:
    """Sends the anonymous to the login and refuses everyone who is not a moderator."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_moderator:  # type: ignore[union-attr]
            raise PermissionDenied(_("Judging items needs the moderator role. An operator grants it."))
        return view(request, *args, **kwargs)

    return member_page(guarded)


def button(back: str, *arguments: str) -> Callable[[View], View]:
    """A POST that needs a login; any other refusal becomes a message on the page named `back`.

    `arguments` are the names of the address's parts that `back` takes too.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            try:
                return view(request, **kwargs)
            except (NotFound, NotAllowed):
                raise
            except MarketError as error:
                messages.error(request, explain(error))
                return redirect(back, **{name: kwargs[name] for name in arguments})

        return member_page(guarded)

    return decorate


def show_on_form(form: forms.Form, error: MarketError) -> None:
    """Adds the refusal to the form: each named field has its own words, the rest goes to the top.

    `columns.0.name` is shown at `columns`, `amount_nano` at `amount`; a part of a field that the form has in rows
    of its own (`attributes.0.targets`) goes to the top. All in the form's words: see forms.places.
    """
    placed = False
    for place, words in error.fields.items():
        name, dot, _detail = place.partition(".")
        field = name if name in form.fields else name.removesuffix("_nano")
        text = words if isinstance(words, str) else " ".join(words)
        if field in form.fields and not form.fields[field].widget.is_hidden:
            form.add_error(field, in_words(place, text))
            placed = True
        elif dot:
            form.add_error(None, in_words(place, text))
            placed = True
    if not placed:
        form.add_error(None, explain(error))


def explain(error: MarketError) -> str:
    """The refusal with what to do about it."""
    advice = {
        "retry": _("Try again in a moment."),
        "look": _("Look at the page again before you decide."),
    }.get(error.advice, "")
    return f"{error.message} {advice}".strip()


def new_key() -> str:
    """An idempotency key for a form: a second press of its button is the same request."""
    return uuid4().hex


def key_of(request: HttpRequest) -> str:
    """The form's key, or a fresh one where a form has none."""
    return str(request.POST.get("key") or new_key())[:100]
