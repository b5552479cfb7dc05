"""Amounts that move: a campaign's budget, credits to unlock."""

from django import forms
from django.utils.translation import gettext_lazy as _

from marketplace.web.forms.fields import HydField


class FundForm(forms.Form):
    amount = HydField(label=_("Amount in HYD"), minimum=1, initial=100 * 10**9)


class UnlockForm(forms.Form):
    """One HYD unlocks one credit; the step cannot be undone, so it is confirmed."""

    amount = HydField(label=_("HYD to unlock"), minimum=1, help_text=_("One HYD becomes one compute credit."))
    confirm = forms.BooleanField(
        label=_("I understand that tokens once unlocked cannot be turned back."),
        error_messages={"required": _("Tick the box to confirm: unlocking cannot be undone.")},
    )
