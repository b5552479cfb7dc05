"""Building blocks: money, finite numbers and JSON of a bounded size."""

import json
import math
from typing import Any

from rest_framework import serializers

from marketplace.rules.money import MAX_NANO, format_hyd


class Money(serializers.Serializer[int]):
    """An amount: exact in nano (10⁻⁹ HYD), and as a decimal string in HYD."""

    nano = serializers.IntegerField(help_text="Whole nano HYD: 1 HYD is 1,000,000,000 nano.")
    hyd = serializers.CharField(help_text='The same as a decimal string, such as "1.25".')

    def to_representation(self, instance: int) -> dict[str, Any]:
        return {"nano": instance, "hyd": format_hyd(instance)}


class AmountNano(serializers.IntegerField):
    """A positive amount that a 64-bit column holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 1, "max_value": MAX_NANO, **options})


class FiniteFloat(serializers.FloatField):
    """A float that is a number: DRF's own accepts "nan", which passes every bound."""

    default_error_messages = {"not_finite": "Must be a finite number."}

    def to_internal_value(self, data: Any) -> float:
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            self.fail("not_finite")
        return value


class SmallJSON(serializers.JSONField):
    """Any JSON whose text stays within `max_bytes`; `kind` is the type its top must have."""

    default_error_messages = {"too_long": "Must stay within {max_bytes} bytes.", "kind": "Must be {kind}."}

    def __init__(self, *, kind: type = dict, max_bytes: int = 16_384, **options: Any) -> None:
        self.kind, self.max_bytes = kind, max_bytes
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not isinstance(value, self.kind):
            self.fail("kind", kind="an object" if self.kind is dict else "a list")
        if len(json.dumps(value)) > self.max_bytes:
            self.fail("too_long", max_bytes=self.max_bytes)
        return value
