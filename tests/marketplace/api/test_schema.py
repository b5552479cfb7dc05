"""The OpenAPI file: served, committed, complete, and true about who may call."""

from pathlib import Path

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from marketplace.api import urls
from marketplace.api.schema import openapi_yaml

from .doors import all_doors, schema

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.yaml"


def test_the_committed_file_is_the_served_one(db):
    served = Client().get("/api/v1/schema/")
    assert served.status_code == 200
    assert served.content.decode() == openapi_yaml()
    assert COMMITTED.read_text() == openapi_yaml(), (
        "run: python manage.py spectacular --file docs/openapi.yaml"
    )


def test_it_is_valid_openapi_and_was_made_without_a_warning():
    GENERATOR_STATS.reset()
    openapi_yaml.cache_clear()
    validate_schema(schema())
    assert not GENERATOR_STATS


def test_every_address_is_described():
    named = {one.name for one in urls.urlpatterns if getattr(one, "name", None)} - {"api-schema", "api-docs"}
    assert len({door.path for door in all_doors()}) == len(named)


def test_every_operation_says_what_it_does_and_who_may_call():
    for path, methods in schema()["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation.get("summary"), where
            assert any(said in operation["description"] for said in ("Scope:", "Anyone", "credentials")), (
                where
            )
            assert operation.get("tags"), where


def test_the_page_shows_every_operation_and_loads_nothing_from_elsewhere(db):
    page = Client().get("/api/v1/docs/")
    assert page.status_code == 200
    text = page.content.decode()
    for path, methods in schema()["paths"].items():
        assert path in text
        assert all(f'id="{one["operationId"]}"' in text for one in methods.values())
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    assert Client().post("/api/v1/docs/").status_code == 405


@pytest.mark.parametrize("kind", ["schemas", "responses"])
def test_errors_have_their_shape(kind):
    found = schema()["components"][kind]
    if kind == "schemas":
        assert set(found["Error"]["required"]) == {"code", "message"}
    else:
        assert set(found) >= {"Invalid", "Unauthenticated", "Forbidden", "NotFound", "Conflict", "KeyReused"}
