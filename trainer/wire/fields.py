"""Frozen dataclasses whose fields are checked when they are made, from our own code or from a peer's JSON alike.

A rule takes a value and returns it in its stored form, or raises ValueError with the reason.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, dataclass_transform

from trainer.errors import BadMessage
from trainer.wire.canonical import canonical_json

Rule = Callable[[Any], Any]
INT32 = 2**31 - 1
INT53 = 2**53 - 1  # what every JSON reader keeps exact


def rule(check: Rule, **options: Any) -> Any:
    return field(metadata={"rule": check}, **options)


def integer(low: int, high: int) -> Rule:
    def check(value: Any) -> int:
        if type(value) is not int:  # bool is an int to isinstance
            raise ValueError(f"expected an integer, got {type(value).__name__}")
        if not low <= value <= high:
            raise ValueError(f"{value} is outside {low}..{high}")
        return value

    return check


def number(low: float, high: float) -> Rule:
    def check(value: Any) -> float:
        if type(value) not in (int, float):
            raise ValueError(f"expected a number, got {type(value).__name__}")
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"{value} is outside {low}..{high}")
        return float(value)

    return check


def text(longest: int, *, shortest: int = 0, pattern: str | None = None) -> Rule:
    compiled = re.compile(pattern) if pattern else None

    def check(value: Any) -> str:
        if type(value) is not str:
            raise ValueError(f"expected text, got {type(value).__name__}")
        if not shortest <= len(value) <= longest:
            raise ValueError(f"{len(value)} characters; {shortest}..{longest} allowed")
        if compiled and not compiled.fullmatch(value):
            raise ValueError(f"does not match {compiled.pattern}")
        return value

    return check


def hexadecimal(n_bytes: int) -> Rule:
    return text(2 * n_bytes, shortest=2 * n_bytes, pattern="[0-9a-f]+")


def boolean() -> Rule:
    def check(value: Any) -> bool:
        if type(value) is not bool:
            raise ValueError(f"expected true or false, got {type(value).__name__}")
        return value

    return check


def optional(inner: Rule) -> Rule:
    return lambda value: None if value is None else inner(value)


def one_of(*choices: str) -> Rule:
    def check(value: Any) -> str:
        if value not in choices or type(value) is not str:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return value

    return check


def list_of(inner: Rule, *, most: int, least: int = 0) -> Rule:
    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(f"expected a list, got {type(value).__name__}")
        if not least <= len(value) <= most:
            raise ValueError(f"{len(value)} entries; {least}..{most} allowed")
        return tuple(inner(entry) for entry in value)

    return check


def json_object(most_bytes: int) -> Rule:
    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"expected an object, got {type(value).__name__}")
        size = len(canonical_json(dict(value)))
        if size > most_bytes:
            raise ValueError(f"{size} bytes; at most {most_bytes} allowed")
        return dict(value)

    return check


def record(kind: "type[Checked]") -> Any:
    return lambda value: value if isinstance(value, kind) else kind.from_dict(value)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(rule,))
class Checked:
    """A frozen dataclass with a rule on each field. `KIND` names it in messages and errors."""

    KIND: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for spec in fields(self):  # type: ignore[arg-type]
            try:
                value = spec.metadata["rule"](getattr(self, spec.name))
            except (ValueError, TypeError) as error:
                raise BadMessage(self.KIND or type(self).__name__, spec.name, str(error)) from error
            object.__setattr__(self, spec.name, value)
        self.check()

    def check(self) -> None:
        """Rules over several fields; raises BadMessage."""

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Raises BadMessage for a field that is missing, unknown, of the wrong type or out of range."""
        name = cls.KIND or cls.__name__
        if not isinstance(data, Mapping):
            raise BadMessage(name, "", f"expected an object, got {type(data).__name__}")
        known = {spec.name for spec in fields(cls)}  # type: ignore[arg-type]
        for wrong in sorted((known ^ set(data)), key=str):
            raise BadMessage(name, str(wrong), "missing" if wrong in known else "unknown field")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        return {spec.name: _plain(getattr(self, spec.name)) for spec in fields(self)}  # type: ignore[arg-type]


class Message(Checked):
    """A `Checked` that travels: its header is its fields plus its kind."""

    def to_header(self) -> dict[str, Any]:
        return {"kind": self.KIND, **self.to_dict()}


def _plain(value: Any) -> Any:
    if isinstance(value, Checked):
        return value.to_dict()
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
