"""The upload form without JavaScript: many files, one label, a tick under the consent."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from marketplace.models import Campaign


class ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """A list of uploaded files."""

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=ManyFilesInput(), **options)

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = (data if isinstance(data, list | tuple) else [data]) or [None]
        return [super(ManyFilesField, self).clean(one, initial) for one in files]


class UploadForm(forms.Form):
    """`label` and the declared attributes apply to every entry that brings none of its own."""

    chosen = ManyFilesField(label=_("Files"), error_messages={"required": _("Choose at least one file.")})
    label = forms.ChoiceField(label=_("Label"), required=False)
    consent_version = forms.IntegerField(widget=forms.HiddenInput())
    consent = forms.BooleanField(
        label=_("I have read this and agree."),
        error_messages={"required": _("Without your agreement nothing can be sent.")},
    )

    def __init__(self, campaign: Campaign, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        none = ("", _("From folder or table"))
        self.fields["label"].choices = [none, *((name, name) for name in campaign.classes)]  # type: ignore[attr-defined]
        self.attribute_fields = [f"attribute-{index}" for index, _one in enumerate(campaign.attributes)]
        for name, declared in zip(self.attribute_fields, campaign.attributes, strict=True):
            choices = [("", _("Not stated")), *((value, value) for value in declared["values"])]
            self.fields[name] = forms.ChoiceField(label=declared["name"], required=False, choices=choices)
        self.declared = [one["name"] for one in campaign.attributes]

    @property
    def attribute_bound(self) -> list[forms.BoundField]:
        return [self[name] for name in self.attribute_fields]

    def attributes(self) -> dict[str, str]:
        """What the contributor stated about all files. Call after is_valid()."""
        stated = (
            (name, self.cleaned_data[field])
            for name, field in zip(self.declared, self.attribute_fields, strict=True)
        )
        return {name: value for name, value in stated if value}
