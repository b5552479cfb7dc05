"""The OpenAPI file beyond the serializers: how tokens are sent, which scope a door needs, how it may refuse."""

from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.utils import OpenApiParameter

from marketplace.api.auth import scopes_needed

REFUSALS = {
    "400": ("Invalid", "The input is not valid; `fields` names the places."),
    "401": ("Unauthenticated", "No token or session, or one that is not valid."),
    "403": ("Forbidden", "The scope (`scope`) or the role is missing."),
    "404": ("NotFound", "Absent, or not the caller's to see."),
    "409": ("Conflict", "The state does not allow it, or somebody else was first."),
    "413": ("TooBig", "The body is too large."),
    "422": ("KeyReused", "The Idempotency-Key was used with another body."),
    "429": ("Throttled", "Too many calls; wait `Retry-After` seconds."),
}
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="1 to 100 printable characters. The same key and body: done once, answered alike (with "
    "`Idempotent-Replayed: true`). The same key with another body: 422. The first one still running: 409.",
)
KEY_NEEDED = OpenApiParameter(
    KEY.name, str, OpenApiParameter.HEADER, required=True, description=KEY.description
)
INTRODUCTION = """Labelled data in, verdicts and rewards out, credits into training jobs.

- **Credentials**: `Authorization: Bearer hyd_…` (POST /auth/token), or the session of the pages with `X-CSRFToken`.
- **Errors** are `{"code", "message", "fields"?}`. What is not yours answers 404, as if it were absent.
- **Money** is whole nano HYD (1 HYD = 1,000,000,000 nano) in requests, `{"nano", "hyd"}` in answers. One HYD unlocks
  one credit.
- **Retries**: send an `Idempotency-Key` with a POST that creates or pays, and repeat it unchanged after a broken
  connection. Funding a campaign needs one.
- **Lists** are `{"results", "next"}`; `next` is the address of the following page, or null. `limit` is 1 to 200.
- **Downloads** take one byte `Range`; the `ETag` is the SHA-256 of the file.
"""
ERROR_SHAPE = {
    "type": "object",
    "description": "Every refusal.",
    "required": ["code", "message"],
    "properties": {
        "code": {
            "type": "string",
            "description": "Stable and made for programs, such as `insufficient_funds`.",
        },
        "message": {"type": "string", "description": "For people: what was wrong and what to do."},
        "fields": {
            "type": "object",
            "description": "By place in the input (`parameters.steps`): what is wrong there.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}


class DoorSchema(AutoSchema):
    """Reads what `views.base.View` declares: `public`, `scopes`, `keyed`, `needs_key`."""

    def get_override_parameters(self) -> list[Any]:
        if self.method != "POST" or not getattr(self.view, "keyed", False):
            return []
        return [KEY_NEEDED if getattr(self.view, "needs_key", False) else KEY]

    def get_auth(self) -> list[dict[str, Any]]:
        if not self.view.authentication_classes:
            return []
        return [*([{}] if self._is_open() else []), *super().get_auth()]

    def get_description(self) -> str:  # type: ignore[override]
        """Nothing by default: a view's docstring speaks to its readers, not to callers."""
        return ""

    def get_operation(self, *args: Any, **options: Any) -> dict[str, Any] | None:  # type: ignore[override]
        operation = super().get_operation(*args, **options)
        if operation is not None:
            said = operation.get("description", "").strip()
            operation["description"] = f"{said}\n\n{self._who_may_call()}".strip()
        return operation

    def _who_may_call(self) -> str:
        if not self.view.authentication_classes:
            return "Needs no credentials."
        needed = " or ".join(f"`{scope}`" for scope in scopes_needed(self.view, self.method))
        return f"Anyone may call it; a token needs {needed}." if self._is_open() else f"Scope: {needed}."

    def _is_open(self) -> bool:
        return self.method == "GET" and getattr(self.view, "public", False)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tells the OpenAPI file how tokens are sent."""

    target_class = "marketplace.api.auth.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "hyd_…",
            "description": "A token from POST /auth/token. Scopes: read, write, moderate, backbone, peer.",
        }


def describe_refusals(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Adds to every operation how it may refuse (a drf-spectacular postprocessing hook)."""
    result["info"]["description"] = INTRODUCTION
    components = result["components"]
    _forget_columns(components["schemas"])
    components["schemas"]["Error"] = ERROR_SHAPE
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    components["responses"] = {
        name: {"description": said, "content": body} for name, said in REFUSALS.values()
    }
    for path, methods in result["paths"].items():
        for method, operation in methods.items():
            for status in _refusals_of(path, method, operation):
                name, _ = REFUSALS[status]
                operation["responses"].setdefault(status, {"$ref": f"#/components/responses/{name}"})
    return result


def _forget_columns(schemas: dict[str, Any]) -> None:
    """Takes the bounds of database columns out of answers: they say nothing, and differ from database to database."""
    for name, shape in schemas.items():
        if not name.endswith("Request"):
            for kind in shape.get("properties", {}).values():
                if kind.get("type") == "integer":
                    for bound in ("minimum", "maximum", "format"):
                        kind.pop(bound, None)


def _refusals_of(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    takes_input = "requestBody" in operation or "parameters" in operation
    is_keyed = any(parameter["name"] == KEY.name for parameter in operation.get("parameters", []))
    rules = {
        "400": takes_input,
        "401": operation.get("security") or "/auth/" in path,
        "403": operation.get("security") or "/auth/" in path,
        "404": "{" in path,
        "409": method != "get" and "/auth/" not in path,
        "413": "requestBody" in operation,
        "422": is_keyed,
        "429": not operation.get("security"),
    }
    return [status for status, applies in rules.items() if applies]


@cache
def openapi_yaml() -> str:
    """The OpenAPI file of all doors, made once per process; docs/openapi.yaml holds the same."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return OpenApiYamlRenderer().render(schema, renderer_context={}).decode()
