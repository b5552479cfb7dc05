"""Reads JSON bodies so that nothing gets past which a database column cannot hold."""

import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJSONParser(JSONParser):
    """DRF's parser, which also refuses runaway nesting, infinite numbers, NUL and half surrogate pairs."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            value = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        refuse_unstorable(value)
        return value


def refuse_unstorable(value: Any) -> None:
    """Raises: ParseError, where a string or number anywhere in `value` cannot be stored as JSON text."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if "\0" in part or any("\ud800" <= letter <= "\udfff" for letter in part):
                raise ParseError("A text holds a NUL character or half of a surrogate pair.")
        elif isinstance(part, float):
            if not math.isfinite(part):
                raise ParseError("A number is not finite.")
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part)
            waiting.extend(part.values())
