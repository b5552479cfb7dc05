"""What is owed to the market waits on disk, in order, until the market has it."""

import json

import pytest

from trainer.errors import MarketRefused, MarketUnreachable
from trainer.market.outbox import Outbox, write_durably


class Taking:
    """A market that takes posts, or does what a test wants it to."""

    def __init__(self):
        self.taken, self.answer = [], lambda path: None

    def post(self, path, body):
        self.answer(path)
        self.taken.append((path, body))

    def post_file(self, path, file, fields):
        self.answer(path)
        self.taken.append((path, {**fields, "file": file.read_bytes()}))


@pytest.fixture
def market():
    return Taking()


def away(path):
    raise MarketUnreachable("m", "away")


def refusing(status, only):
    def answer(path):
        if path == only:
            raise MarketRefused(path, status, "no", "No.")

    return answer


def test_posts_go_in_order_and_once(tmp_path, market):
    outbox = Outbox(tmp_path)
    for number in range(12):
        outbox.put(f"/{number}", {"n": number})
    assert outbox.send_all(market) == 12
    assert [body["n"] for _, body in market.taken] == list(range(12))
    assert outbox.send_all(market) == 0 and not outbox.waiting()


def test_what_waits_survives_a_restart(tmp_path, market):
    first = Outbox(tmp_path)
    first.put("/a", {})
    market.answer = away
    assert first.send_all(market) == 0
    second = Outbox(tmp_path)
    second.put("/b", {})
    market.answer = lambda path: None
    assert second.send_all(market) == 2
    assert [path for path, _ in market.taken] == ["/a", "/b"]


def test_a_refused_post_is_kept_aside_with_the_reason_and_the_rest_goes_on(tmp_path, market):
    outbox = Outbox(tmp_path)
    outbox.put("/bad", {"n": 1}, b"content")
    outbox.put("/good", {"n": 2})
    market.answer = refusing(400, "/bad")
    outbox.send_all(market)
    assert [path for path, _ in market.taken] == ["/good"]
    kept = json.loads(next((tmp_path / "refused").glob("*.json")).read_text())
    assert kept["path"] == "/bad" and "No." in kept["why"]
    assert next((tmp_path / "refused").glob("*.bin")).read_bytes() == b"content"


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_refused_loses_nothing(tmp_path, market, status):
    outbox = Outbox(tmp_path)
    outbox.put("/a", {})
    market.answer = refusing(status, "/a")
    outbox.send_all(market)
    assert len(outbox.waiting()) == 1


def test_a_file_goes_along_and_is_removed_when_taken(tmp_path, market):
    outbox = Outbox(tmp_path)
    outbox.put("/checkpoint", {"step": 3, "metrics": "{}"}, b"tensors")
    outbox.send_all(market)
    assert market.taken == [("/checkpoint", {"step": "3", "metrics": "{}", "file": b"tensors"})]
    assert not list(tmp_path.glob("*.bin"))


def test_a_torn_write_never_shows(tmp_path):
    write_durably(tmp_path / "x", b"old")
    write_durably(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
