"""The API's documentation as a page of this site, made from the OpenAPI file: no script, nothing from elsewhere."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from marketplace.api.schema import openapi_yaml

TAGS = {
    "accounts": "Accounts and tokens",
    "campaigns": "Campaigns",
    "submissions": "Submissions",
    "items": "Items",
    "moderation": "Moderation",
    "rewards": "Rewards and the ledger",
    "releases": "Releases",
    "jobs": "Training jobs",
    "network": "Volunteers",
    "backbone": "The backbone",
}


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    is_required: bool
    text: str


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    anchor: str
    summary: str
    texts: list[str]
    query: list[Field]
    body: list[Field]
    answers: list[tuple[str, list[Field]]]


@dataclass(frozen=True)
class Group:
    tag: str
    title: str
    operations: list[Operation]


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html", {"groups": _groups(), "introduction": _introduction()})


@cache
def _introduction() -> list[str]:
    text = yaml.safe_load(openapi_yaml())["info"]["description"]
    return [" ".join(line.split()).removeprefix("- ").replace("**", "") for line in text.split("\n- ")]


@cache
def _groups() -> list[Group]:
    schema = yaml.safe_load(openapi_yaml())
    groups = {tag: Group(tag, title, []) for tag, title in TAGS.items()}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].operations.append(_operation(schema, path, method, operation))
    return list(groups.values())


def _operation(schema: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Operation:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    form: dict[str, Any] = next(iter(content.values()), {})
    return Operation(
        method=method.upper(),
        path=path,
        anchor=operation["operationId"],
        summary=operation["summary"],
        texts=operation["description"].split("\n\n"),
        query=[_field(schema, one["name"], one["schema"], one) for one in operation.get("parameters", [])],
        body=_fields(schema, form.get("schema", {})),
        answers=[
            (status, _fields(schema, next(iter(answer["content"].values()))["schema"]))
            for status, answer in operation["responses"].items()
            if "content" in answer
        ],
    )


def _fields(schema: dict[str, Any], kind: dict[str, Any]) -> list[Field]:
    """The first level of an object's fields; deeper ones are named by their kind."""
    kind = _resolved(schema, kind)
    if "results" in kind.get("properties", {}):
        kind = _resolved(schema, kind["properties"]["results"]["items"])
    needed = kind.get("required", [])
    properties = kind.get("properties", {})
    return [_field(schema, name, one, {"required": name in needed}) for name, one in properties.items()]


def _field(schema: dict[str, Any], name: str, kind: dict[str, Any], beside: dict[str, Any]) -> Field:
    text = beside.get("description") or kind.get("description", "")
    said = re.split(r"(?:^|\n\n)\* `", text)[
        0
    ]  # drf-spectacular lists an enum's values below; `kind` shows them
    return Field(name, _kind(schema, kind), bool(beside.get("required")), said)


def _kind(schema: dict[str, Any], kind: dict[str, Any]) -> str:
    kind = _resolved(schema, kind)
    if "enum" in kind:
        return " | ".join(str(one) for one in kind["enum"] if one)
    if kind.get("type") == "array":
        return f"list of {_kind(schema, kind.get('items', {}))}"
    if set(kind.get("properties", {})) == {"nano", "hyd"}:
        return "money"
    if kind.get("properties"):
        return "{" + ", ".join(kind["properties"]) + "}"
    return str(kind.get("format") or kind.get("type") or "any JSON")


def _resolved(schema: dict[str, Any], kind: dict[str, Any]) -> dict[str, Any]:
    parts = kind.get("allOf") or kind.get("oneOf")
    if parts:
        return _resolved(schema, parts[0])
    if "$ref" in kind:
        return _resolved(schema, schema["components"]["schemas"][kind["$ref"].rsplit("/", 1)[1]])
    return kind
