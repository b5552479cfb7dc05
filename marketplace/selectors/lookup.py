"""Finding one row by its public id, so that a malformed id, an absent row and another's row look the same."""

from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from marketplace.errors import NotFound

M = TypeVar("M", bound=Model)


def parse_id(public_id: object) -> UUID:
    """Raises: NotFound for what is not a UUID."""
    if isinstance(public_id, UUID):
        return public_id
    try:
        return UUID(str(public_id))
    except ValueError:
        raise NotFound from None


def get_one(rows: QuerySet[M], public_id: object) -> M:
    """The row of `rows` with this public id. Raises: NotFound."""
    found = rows.filter(public_id=parse_id(public_id)).first()
    if found is None:
        raise NotFound
    return found
