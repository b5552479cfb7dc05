"""Every operation of the OpenAPI file as data, so that tests of all doors cover new ones by themselves."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jsonschema
import yaml

from marketplace.api.schema import openapi_yaml

PREFIX = "/api/v1/"


@dataclass(frozen=True)
class Door:
    """`is_open`: anybody may call it. `has_login`: credentials matter at all (not so for registering)."""

    method: str
    path: str
    is_open: bool
    has_login: bool
    body: dict[str, Any] | None
    answer: dict[str, Any] | None = field(hash=False, default=None)
    parameters: list[dict[str, Any]] = field(hash=False, default_factory=list)

    @property
    def names(self) -> list[str]:
        """The placeholders of its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def at(self, **ids: object) -> str:
        return self.path.removeprefix(PREFIX).format(**ids)

    def __str__(self) -> str:
        return f"{self.method} {self.path.removeprefix(PREFIX)}"


def schema() -> dict[str, Any]:
    return yaml.safe_load(openapi_yaml())


def all_doors() -> list[Door]:
    return [
        _door(method, path, operation)
        for path, methods in schema()["paths"].items()
        for method, operation in methods.items()
    ]


def _door(method: str, path: str, operation: dict[str, Any]) -> Door:
    security = operation.get("security", [])
    content = operation.get("requestBody", {}).get("content", {})
    return Door(
        method=method,
        path=path,
        is_open={} in security,
        has_login=bool([one for one in security if one]),
        body=content.get("application/json", {}).get("schema"),
        answer=operation["responses"]
        .get("200", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema"),
        parameters=[one for one in operation.get("parameters", []) if one["in"] == "query"],
    )


def check_answer(door: Door, answer: Any) -> None:
    """Raises: jsonschema.ValidationError, where the answer is not as the schema says, or has a field it does not name."""
    kind = _strict(door.answer)
    jsonschema.Draft4Validator({**kind, "components": _strict_components()}).validate(answer)


@cache
def _strict_components() -> Any:
    return _strict(schema()["components"])


def _strict(part: Any) -> Any:
    """OpenAPI 3.0 as JSON schema: `nullable` spelled out, and no field beside those named."""
    if isinstance(part, list):
        return [_strict(one) for one in part]
    if not isinstance(part, dict):
        return part
    made = {name: _strict(one) for name, one in part.items() if name not in ("readOnly", "format")}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    if made.pop("nullable", False):
        return {"anyOf": [made, {"type": "null"}]}
    return made
