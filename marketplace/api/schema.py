"""What the OpenAPI file says beyond the serializers: how tokens are sent, and the refusals that any door may give."""

from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer

REFUSALS = {
    "400": "The input is not valid; `fields` names the places.",
    "401": "No token or session, or a token that is not valid.",
    "403": "The scope or the role is missing.",
    "404": "Absent, or not the caller's to see.",
    "409": "The state does not allow it, or somebody else was first.",
    "413": "The body is too large.",
    "422": "The Idempotency-Key was used with another body.",
    "429": "Too many calls; wait `Retry-After` seconds.",
}


@cache
def openapi_yaml() -> str:
    """The OpenAPI file of all doors, made once per process; docs/openapi.yaml holds the same."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return OpenApiYamlRenderer().render(schema, renderer_context={}).decode()


def describe_refusals(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Adds the shape of errors to every operation (a drf-spectacular postprocessing hook)."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = ERROR_SHAPE
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for methods in result["paths"].values():
        for method, operation in methods.items():
            for status in _refusals_of(method, operation):
                operation["responses"].setdefault(status, {"description": REFUSALS[status], "content": body})
            if method == "post" and "security" in operation:
                operation.setdefault("parameters", []).append(IDEMPOTENCY_HEADER)
    return result


def _refusals_of(method: str, operation: dict[str, Any]) -> list[str]:
    statuses = ["400", "401", "403", "404"]
    return statuses if method == "get" else [*statuses, "409", "413", "422", "429"]


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
IDEMPOTENCY_HEADER = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "maxLength": 100},
    "description": "The same key and body: done once, answered alike. The same key, another body: 422.",
}


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
