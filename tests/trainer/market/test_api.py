"""The client against a market over real HTTP: what is refused is said, what passes is tried again."""

import io
import json
import random

import httpx
import pytest

from tests.trainer.releases import RELEASE, make_release
from trainer.errors import MarketRefused, MarketUnreachable, ReleaseInvalid
from trainer.identity import from_seed
from trainer.market.api import Market
from trainer.market.fake import FakeMarket
from trainer.wire.files import PieceFile
from trainer.wire.manifest import parse_files
from trainer.wire.messages import Address

PEER = from_seed(b"p" * 32)
ADDRESS = Address(peer_id=PEER.peer_id, host="127.0.0.1", port=9000)


@pytest.fixture
def fake(tmp_path):
    make_release(tmp_path / "release", n_train=40, n_test=10)
    with FakeMarket({RELEASE: tmp_path / "release"}) as market:
        yield market


@pytest.fixture
def backbone(fake):
    client = Market(fake.url, fake.backbone_token, sleep=lambda seconds: None)
    yield client
    client.close()


def client_of(answers, **options):
    """A client whose market gives these (status, body) in order."""
    asked, waits = [], []

    def handle(request):
        asked.append(request)
        status, body = answers[min(len(asked), len(answers)) - 1]
        return httpx.Response(status, json=body)

    market = Market(
        "http://market", "hyd_x", transport=httpx.MockTransport(handle), sleep=waits.append,
        chance=random.Random(1), **options,
    )  # fmt: skip
    return market, asked, waits


def test_a_peer_enrols_once_with_its_code(fake):
    code = fake.issue_code()
    client = Market(fake.url)
    assert client.enrol(code, PEER.public_key, "p").peer_id == PEER.peer_id
    with pytest.raises(MarketRefused, match="not valid"):
        client.enrol(code, PEER.public_key, "p")
    client.close()


def test_an_announced_backbone_is_found(fake, backbone):
    backbone.announce(ADDRESS, PEER.public_key)
    assert backbone.fetch_backbones() == [ADDRESS]
    fake.backbones.append({"peer_id": "no", "host": "h", "port": 1})
    assert backbone.fetch_backbones() == [ADDRESS]


def test_enrolments_come_once_each_by_cursor(fake, backbone):
    backbone.enrol(fake.issue_code(), PEER.public_key, "p")
    found, cursor = backbone.fetch_enrolments(0)
    assert [entry["peer_id"] for entry in found] == [PEER.peer_id]
    assert backbone.fetch_enrolments(cursor) == ([], cursor)


def test_release_files_are_fetched_whole_and_kept(fake, backbone, tmp_path):
    file = parse_files(json.loads(backbone.fetch_manifest(RELEASE)), "train")[0]
    path = backbone.fetch_release_file(RELEASE, file, tmp_path / "here")
    assert PieceFile.of_stream(file.name, io.BytesIO(path.read_bytes()), file.piece_bytes) == file
    fake.away = True
    assert backbone.fetch_release_file(RELEASE, file, tmp_path / "here") == path


def test_a_file_that_is_not_the_manifests_is_refused(fake, backbone, tmp_path):
    file = parse_files(json.loads(backbone.fetch_manifest(RELEASE)), "train")[0]
    wrong = PieceFile.from_dict({**file.to_dict(), "sha256": "ab" * 32})
    with pytest.raises(ReleaseInvalid, match="not the file"):
        backbone.fetch_release_file(RELEASE, wrong, tmp_path / "here")
    assert not list((tmp_path / "here").iterdir())


def test_volunteers_do_not_get_release_files(fake, tmp_path):
    volunteer = Market(fake.url, "hyd_volunteer")
    with pytest.raises(MarketRefused, match="404"):
        volunteer.fetch_manifest(RELEASE)
    volunteer.close()


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_passes_is_tried_again_with_growing_waits(status):
    market, asked, waits = client_of([(status, {}), (status, {}), (200, {"results": [1]})])
    assert market.fetch_jobs() == [1]
    assert len(asked) == 3 and waits[1] > waits[0]


def test_a_market_that_stays_away_is_unreachable_after_four_tries():
    market, asked, _ = client_of([(503, {})])
    with pytest.raises(MarketUnreachable):
        market.fetch_jobs()
    assert len(asked) == 4


def test_a_refusal_is_not_tried_again_and_says_why():
    market, asked, _ = client_of([(400, {"code": "invalid", "message": "No.", "fields": {"step": ["is 3"]}})])
    with pytest.raises(MarketRefused, match=r"400 invalid.*No.*is 3") as caught:
        market.fetch_jobs()
    assert len(asked) == 1 and caught.value.status == 400


def test_an_answer_that_is_no_json_is_a_market_that_is_not_there():
    def handle(request):
        return httpx.Response(200, text="<html>")

    market = Market("http://m", transport=httpx.MockTransport(handle), sleep=lambda seconds: None)
    with pytest.raises(MarketUnreachable, match="JSON"):
        market.fetch_jobs()


def test_a_wrong_address_is_unreachable():
    market = Market("http://127.0.0.1:9", tries=1)
    with pytest.raises(MarketUnreachable):
        market.fetch_jobs()
    market.close()


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"code": ["It was used."]}, "It was used."),
        ({"name": ["Too long."]}, "It was used. name: Too long."),
        (None, "It was used."),
    ],
)
def test_a_refusal_says_each_thing_once_and_in_words(fields, said):
    body = {"code": "invalid", "message": "It was used.", "fields": fields}
    market, _, _ = client_of([(400, body)])
    with pytest.raises(MarketRefused) as refused:
        market.get("/x")
    assert refused.value.said == said and "{" not in str(refused.value)
    market.close()
