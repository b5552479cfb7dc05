"""What the OpenAPI file says beyond the serializers: how tokens are sent."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


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
