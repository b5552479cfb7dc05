"""The cast: Ada sponsors, Ben and Vera contribute, Cleo and Max moderate, Eve is a stranger."""

import pytest

from marketplace.models import Campaign, User
from tests.marketplace.world import make_campaign, make_user


@pytest.fixture(autouse=True)
def _own_media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def ada(db) -> User:
    return make_user("ada", "sponsor")


@pytest.fixture
def ben(db) -> User:
    return make_user("ben")


@pytest.fixture
def vera(db) -> User:
    return make_user("vera")


@pytest.fixture
def cleo(db) -> User:
    return make_user("cleo", "moderate")


@pytest.fixture
def max_(db) -> User:
    return make_user("max", "moderate")


@pytest.fixture
def eve(db) -> User:
    return make_user("eve")


@pytest.fixture
def shapes(ada) -> Campaign:
    """Grey pictures of crosses and rings, 28 pixels a side, 1 HYD each, 1,000 HYD in all."""
    return make_campaign(ada, "shapes", image_channels=1, image_min_side=28)


@pytest.fixture
def notes(ada) -> Campaign:
    """Short texts of two classes."""
    return make_campaign(ada, "notes", modality="text", classes=["good", "bad"])
