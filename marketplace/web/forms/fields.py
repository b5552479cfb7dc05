"""Form fields that people type without knowing JSON or nano: money in HYD, names one per line, shares in percent."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from marketplace.rules.money import AmountError, format_hyd, parse_hyd


class HydField(forms.CharField):
    """A decimal such as 1.25 in, whole nano out."""

    def __init__(self, *, minimum: int = 0, **options: Any) -> None:
        self.minimum = minimum
        options.setdefault(
            "widget", forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "class": "num"})
        )
        super().__init__(**options)

    def prepare_value(self, value: Any) -> Any:
        return format_hyd(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_hyd(text.replace(",", ""), minimum=self.minimum)
        except AmountError as error:
            raise ValidationError(
                _("%(expected)s.") % {"expected": error.expected[:1].upper() + error.expected[1:]}
            ) from error


class LinesField(forms.CharField):
    """One name per line in, a list out; empty lines do not count."""

    def __init__(self, *, rows: int = 6, **options: Any) -> None:
        options.setdefault("widget", forms.Textarea(attrs={"rows": rows, "spellcheck": "false"}))
        super().__init__(**options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class ColumnsField(LinesField):
    """`age: number 0 to 120` or `colour: category red, green` per line in, Campaign.columns out."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return "\n".join(_write_column(one) if isinstance(one, dict) else str(one) for one in value)
        return value

    def clean(self, value: Any) -> Any:
        return [_read_column(number, line) for number, line in enumerate(super().clean(value), start=1)]


class SharesField(LinesField):
    """`female: 50` (percent, optional) per line in, {"values": […], "targets": {…}} out."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            targets = value.get("targets") or {}
            return "\n".join(
                f"{name}: {100 * targets[name]:g}" if name in targets else name
                for name in value.get("values", [])
            )
        return value

    def clean(self, value: Any) -> Any:
        values, targets = [], {}
        for number, line in enumerate(super().clean(value), start=1):
            name, colon, share = line.rpartition(":")
            if not colon:
                name, share = share, ""
            values.append(name.strip())
            if share.strip():
                targets[name.strip()] = _read_percent(number, share)
        return {"values": values, "targets": targets}


def _read_percent(line: int, text: str) -> float:
    try:
        share = float(text.strip().rstrip("%").strip())
    except ValueError:
        message = _(
            "Line %(line)s: write the target as a number of percent after the colon, such as “female: 50”."
        )
        raise ValidationError(message % {"line": line}) from None
    if not 0 <= share <= 100:
        raise ValidationError(_("Line %(line)s: a target is from 0 to 100 percent.") % {"line": line})
    return round(share / 100, 9)


def _read_column(line: int, text: str) -> dict[str, Any]:
    """Raises: ValidationError with the line and an example."""
    name, colon, rest = text.partition(":")
    kind, _space, detail = rest.strip().partition(" ")
    if colon and kind == "category":
        return {
            "name": name.strip(),
            "type": "category",
            "values": [v.strip() for v in detail.split(",") if v.strip()],
        }
    if colon and kind == "number":
        return {"name": name.strip(), "type": "number", **_read_range(line, detail)}
    message = _("Line %(line)s: write “age: number 0 to 120” or “colour: category red, green”.")
    raise ValidationError(message % {"line": line})


def _read_range(line: int, detail: str) -> dict[str, float]:
    if not detail.strip():
        return {}
    low, word, high = detail.partition(" to ")
    try:
        return {"low": float(low), "high": float(high)} if word else {"low": float(low)}
    except ValueError:
        message = _("Line %(line)s: write the range as “0 to 120”.")
        raise ValidationError(message % {"line": line}) from None


def _write_column(column: dict[str, Any]) -> str:
    if column.get("type") == "category":
        return f"{column['name']}: category {', '.join(column.get('values', []))}".rstrip()
    low, high = column.get("low"), column.get("high")
    span = (
        f" {low:g} to {high:g}"
        if low is not None and high is not None
        else (f" {low:g}" if low is not None else "")
    )
    return f"{column.get('name', '')}: number{span}"
