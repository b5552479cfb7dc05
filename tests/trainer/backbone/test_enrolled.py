"""Who is enrolled: asked anew before a no, remembered while the market is away, forgotten when it says so."""

import pytest

from tests.trainer.running import run
from trainer.backbone.enrolled import Enrolled
from trainer.identity import from_seed
from trainer.market.api import Market
from trainer.market.fake import FakeMarket

PEER, OTHER = from_seed(b"p" * 32), from_seed(b"o" * 32)


@pytest.fixture
def fake():
    with FakeMarket({}) as market:
        yield market


@pytest.fixture
def client(fake):
    market = Market(fake.url, fake.backbone_token, tries=1)
    yield market
    market.close()


def test_a_peer_that_enrolled_a_moment_ago_is_found(fake, client, tmp_path):
    enrolled = Enrolled(tmp_path, client)
    assert not run(enrolled.is_active(PEER.peer_id))
    client.enrol(fake.issue_code(), PEER.public_key, "p")
    assert run(enrolled.is_active(PEER.peer_id))
    assert not run(enrolled.is_active(OTHER.peer_id))


def test_the_list_outlives_the_process_and_the_market(fake, client, tmp_path):
    client.enrol(fake.issue_code(), PEER.public_key, "p")
    Enrolled(tmp_path, client).refresh()
    fake.away = True
    again = Enrolled(tmp_path, client)
    assert run(again.is_active(PEER.peer_id))
    assert not run(again.is_active(OTHER.peer_id))


def test_a_peer_that_was_retired_is_forgotten(fake, client, tmp_path):
    client.enrol(fake.issue_code(), PEER.public_key, "p")
    enrolled = Enrolled(tmp_path, client)
    enrolled.refresh()
    fake.deactivate(PEER.peer_id)
    enrolled.refresh()
    assert not enrolled.knows(PEER.peer_id)
