"""A new API token: a name, what it may do, how long it lives."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from marketplace.models import User

SCOPES = [
    ("read", _("Read: see what you can see")),
    ("write", _("Write: upload, unlock, start jobs in your name")),
]
MODERATE = ("moderate", _("Moderate: judge items in your name"))


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=80, help_text=_("Where you will use it, such as “laptop”.")
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"), choices=SCOPES, widget=forms.CheckboxSelectMultiple, initial=["read"],
        error_messages={"required": _("Tick at least one.")},
    )  # fmt: skip
    days = forms.TypedChoiceField(
        label=_("Valid for"), coerce=int, initial=90,
        choices=[(7, _("a week")), (30, _("a month")), (90, _("three months")), (365, _("a year")), (0, _("no limit"))],
    )  # fmt: skip

    def __init__(self, user: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if user.is_moderator:
            self.fields["scopes"].choices = [*SCOPES, MODERATE]  # type: ignore[attr-defined]

    def expires_at(self, now: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return now + timedelta(days=days) if days else None
