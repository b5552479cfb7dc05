"""The sponsor's form: what a campaign asks for, on which terms, how it is judged and paid."""

from datetime import UTC
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from marketplace.models import Campaign
from marketplace.models.campaign import Modality
from marketplace.rules.admission import fill_policy
from marketplace.rules.schema import CampaignDraft
from marketplace.web.forms.fields import ColumnsField, HydField, LinesField, SharesField

LICENCES = ("CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "ODbL-1.0", "PDDL-1.0")
ATTRIBUTE_ROWS = 4
POLICY_FIELDS = ("reject_bad_technical", "review_suspect_labels", "near_duplicates", "cold_start")


class AttributeForm(forms.Form):
    """One declared attribute with its groups."""

    name = forms.CharField(label=_("Attribute"), required=False, max_length=80,
                           widget=forms.TextInput(attrs={"placeholder": _("for example: age group")}))  # fmt: skip
    shares = SharesField(
        label=_("Groups, one per line, with the share you aim for in percent"),
        required=False,
        rows=4,
        help_text=_("For example “female: 50”. A group without a number has no target."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        groups = (data.get("shares") or {}).get("values", [])
        if groups and not data.get("name"):
            self.add_error("name", _("Name the attribute these groups belong to."))
        if data.get("name") and not groups and "shares" not in self.errors:
            self.add_error("shares", _("List at least one group, such as “female: 50”."))
        return data


AttributeFormSet = forms.formset_factory(AttributeForm, extra=1, max_num=20, absolute_max=20)


class CampaignForm(forms.Form):
    """Makes a CampaignDraft; rules.schema has the last word and names the fields it refuses."""

    title = forms.CharField(label=_("Title"), max_length=120)
    description = forms.CharField(
        label=_("What you are looking for"), required=False, widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("What a good item looks like, and what does not count."),
    )  # fmt: skip
    modality = forms.ChoiceField(
        label=_("Kind of data"), choices=Modality.choices, widget=forms.RadioSelect, initial="image"
    )
    classes = LinesField(
        label=_("Classes"), help_text=_("One per line, spelled as contributors will see them.")
    )
    image_channels = forms.TypedChoiceField(
        label=_("Pictures are"),
        coerce=int,
        initial=3,
        choices=[(3, _("in colour")), (1, _("in shades of grey"))],
    )
    image_min_side = forms.IntegerField(
        label=_("Smallest side in pixels"), min_value=1, max_value=4096, initial=128,
        help_text=_("Smaller pictures lose quality or are refused."),
    )  # fmt: skip
    text_column = forms.CharField(
        label=_("Column with the text"),
        initial="text",
        required=False,
        help_text=_("In CSV and JSONL files."),
    )
    label_column = forms.CharField(
        label=_("Column with the label"),
        initial="label",
        required=False,
        help_text=_("In CSV and JSONL files."),
    )
    columns = ColumnsField(
        label=_("Columns of the table"), required=False,
        help_text=_("One per line: “age: number 0 to 120” or “colour: category red, green”. Without the label's column."),
    )  # fmt: skip
    reward_base = HydField(
        label=_("Reward for an item of full quality, in HYD"), initial=10**9,
        help_text=_("Each reward is this amount × quality × novelty × scarcity."),
    )  # fmt: skip
    near_duplicates = forms.ChoiceField(
        label=_("Near duplicates (crops, re-encodings)"),
        choices=[("duplicate", _("count as duplicates")), ("review", _("go to a moderator"))],
    )
    cold_start = forms.ChoiceField(
        label=_("While there is too little data to check a label"),
        choices=[("accept", _("accept what passes the other checks")), ("review", _("ask a moderator"))],
    )
    reject_bad_technical = forms.BooleanField(
        label=_("Refuse unusable items without asking a person"), required=False, initial=True
    )
    review_suspect_labels = forms.BooleanField(
        label=_("Send items with a suspect label to a moderator"), required=False, initial=True
    )
    licence = forms.CharField(
        label=_("Licence"), max_length=80, initial="CC-BY-4.0", widget=forms.TextInput(attrs={"list": "licences"}),
        help_text=_("Under which contributors give their data, as an SPDX name."),
    )  # fmt: skip
    consent_text = forms.CharField(
        label=_("What contributors agree to"), required=False, widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("Shown with a box to tick before each upload. A change makes a new version."),
    )  # fmt: skip
    deadline = forms.DateTimeField(
        label=_("Deadline (UTC)"), required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )  # fmt: skip

    def draft(self, attributes: list[dict[str, Any]]) -> CampaignDraft:
        """The sponsor's wishes; `attributes` come from the formset. Call after is_valid()."""
        data = dict(self.cleaned_data)
        policy = {name: data.pop(name) for name in POLICY_FIELDS}
        defaults = fill_policy({})
        for column, otherwise in (("text_column", "text"), ("label_column", "label")):
            data[column] = data[column] or otherwise
        if data["deadline"] is not None:
            data["deadline"] = data["deadline"].astimezone(UTC)
        changed = {name: value for name, value in policy.items() if value != defaults[name]}
        return CampaignDraft(attributes=attributes, policy=changed, **data)


class OpenCampaignForm(forms.Form):
    """What may still be corrected once contributors have agreed to the terms."""

    title, description, deadline = (
        CampaignForm.base_fields["title"],
        CampaignForm.base_fields["description"],
        CampaignForm.base_fields["deadline"],
    )


def attributes_of(formset: Any) -> list[dict[str, Any]]:
    """Campaign.attributes from a valid formset; empty rows are left out."""
    return [
        {"name": row["name"], "values": row["shares"]["values"], "targets": row["shares"]["targets"]}
        for row in (form.cleaned_data for form in formset)
        if row.get("name")
    ]


def initial_of(campaign: Campaign) -> dict[str, Any]:
    """The form's values for a campaign that exists."""
    policy = fill_policy(campaign.policy)
    own = {name: getattr(campaign, name) for name in CampaignForm.base_fields if hasattr(campaign, name)}
    return {**own, **{name: policy[name] for name in POLICY_FIELDS}}


def initial_attributes(campaign: Campaign) -> list[dict[str, Any]]:
    return [{"name": one["name"], "shares": one} for one in campaign.attributes]
