"""A training job's form, built from the recipe's own list of parameters."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from marketplace.web.forms.fields import HydField
from trainer.recipes import RecipeSpec


class JobForm(forms.Form):
    """One field per parameter of the recipe, with its range as help; and the most that may be spent."""

    def __init__(self, spec: RecipeSpec, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.spec = spec
        for parameter in spec.parameters:
            kind: Any = forms.IntegerField if parameter.kind == "int" else forms.FloatField
            self.fields[parameter.name] = kind(
                label=parameter.name.replace("_", " ").capitalize(), initial=parameter.default,
                min_value=parameter.low, max_value=parameter.high,
                help_text=f"{parameter.help} ({parameter.allowed})",
                widget=forms.NumberInput(attrs={"step": "1" if parameter.kind == "int" else "any"}),
            )  # fmt: skip
        self.fields["limit"] = HydField(
            label=_("Most credits to spend"), required=False, minimum=1,
            help_text=_("Left empty: the estimate. What the job does not use comes back to you."),
        )  # fmt: skip

    @property
    def parameter_bound(self) -> list[forms.BoundField]:
        return [self[parameter.name] for parameter in self.spec.parameters]

    def parameters(self) -> dict[str, int | float]:
        return {parameter.name: self.cleaned_data[parameter.name] for parameter in self.spec.parameters}

    def estimate(self) -> int | None:
        """Nano credits for all steps; None while a parameter is missing or wrong."""
        data = getattr(self, "cleaned_data", {})
        if data.get("steps") is None or data.get("batch_size") is None:
            return None
        return self.spec.cost({"steps": data["steps"], "batch_size": data["batch_size"]})

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        limit = data.get("limit")
        if limit is not None and limit < self.spec.nano_per_sample:
            self.add_error("limit", ValidationError(_("This does not pay for a single sample.")))
        return data

    def credit_limit(self) -> int:
        return self.cleaned_data["limit"] or self.estimate() or 0
