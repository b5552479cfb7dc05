"""Fixtures of the ledger's tests."""

import pytest

from ledger import service
from tests.ledger.world import CAMPAIGN, HYD, World


@pytest.fixture
def world(db) -> World:
    return World()


@pytest.fixture
def funded(world) -> World:
    service.fund_campaign(CAMPAIGN, 1000 * HYD, key="fund")
    return world
