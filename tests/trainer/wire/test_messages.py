"""Whatever a peer sends is a valid message or a BadMessage: never another exception, never a wrong value let in."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trainer.errors import BadMessage, BadSignature
from trainer.identity import from_seed
from trainer.wire.canonical import canonical_json, parse_json
from trainer.wire.messages import MESSAGES, Commit, Done, Pass, Plan, parse_message

ID = [from_seed(bytes([n + 1]) * 32).peer_id for n in range(4)]
COMMIT = {"kind": "commit", "job": "j", "step": 3, "term": 1, "digest": "ab" * 32}
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def plan(**changes):
    fields = {
        "job": "j", "step": 0, "term": 1, "batch": 10, "seed": 0, "n_items": 100, "size": 6, "dtype": "float32",
        "limit_s": 10.0, "check_state": False,
        "members": [
            {"peer_id": ID[0], "host": "h", "port": 1, "first": 0, "count": 4},
            {"peer_id": ID[1], "host": "h", "port": 1, "first": 4, "count": 6},
        ],
        "watchers": [{"peer_id": ID[2], "host": "h", "port": 1}],
        "spans": [{"owner": ID[0], "first": 0, "count": 3}, {"owner": ID[1], "first": 3, "count": 3}],
    }  # fmt: skip
    return {**fields, **changes}


def test_a_message_survives_the_wire():
    message = parse_message(COMMIT)
    assert message == Commit(job="j", step=3, term=1, digest="ab" * 32)
    assert parse_message(parse_json(canonical_json(message.to_header()))) == message


@given(JSON)
def test_any_json_is_a_message_or_a_bad_message(header):
    try:
        parse_message(header)
    except BadMessage:
        pass


@given(some.sampled_from(sorted(MESSAGES)), some.dictionaries(some.text(max_size=6), JSON, max_size=3))
def test_any_fields_under_a_known_kind_are_refused_or_valid(kind, fields):
    try:
        message = parse_message({**fields, "kind": kind})
    except BadMessage:
        return
    assert parse_message(message.to_header()) == message


@given(some.sampled_from([name for name in COMMIT if name != "kind"]), JSON)
def test_one_field_replaced_is_refused_unless_it_fits(name, value):
    fits = type(value) is type(COMMIT[name]) and value != ""
    if not fits or name == "digest":
        with pytest.raises(BadMessage) as caught:
            parse_message({**COMMIT, name: value})
        assert caught.value.field == name
        return
    try:
        assert getattr(parse_message({**COMMIT, name: value}), name) == value
    except BadMessage:
        assert name == "job" or not 0 <= value < 2**31


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"step": -1}, "step"),
        ({"step": True}, "step"),
        ({"step": 2**31}, "step"),
        ({"step": 3.0}, "step"),
        ({"digest": "ab" * 31}, "digest"),
        ({"digest": "AB" * 32}, "digest"),
        ({"job": "../x"}, "job"),
        ({"job": ""}, "job"),
        ({"more": 1}, "more"),
    ],
)
def test_wrong_fields_are_named(changes, field):
    with pytest.raises(BadMessage) as caught:
        parse_message({**COMMIT, **changes})
    assert caught.value.field == field


def test_a_missing_field_is_named():
    with pytest.raises(BadMessage, match="'term': missing"):
        parse_message({name: value for name, value in COMMIT.items() if name != "term"})


@pytest.mark.parametrize("loss", [math.nan, math.inf, 1e31, "1"])
def test_a_loss_that_is_no_number_is_refused(loss):
    with pytest.raises(BadMessage, match="loss"):
        Done(
            job="j", step=0, term=0, digest="ab" * 32, state_digest=None, samples=1, loss=loss, compute_s=0.0,
            signature=None,
        )  # fmt: skip


def test_a_plan_whose_shares_and_spans_tile_is_taken():
    assert Plan.from_dict(plan()).key == (1, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 11},
        {"size": 7},
        {"spans": [{"owner": ID[0], "first": 0, "count": 2}, {"owner": ID[1], "first": 3, "count": 3}]},
        {"spans": [{"owner": ID[3], "first": 0, "count": 6}]},
        {"watchers": [{"peer_id": ID[0], "host": "h", "port": 1}]},
        {"members": []},
        {"dtype": "float16"},
        {"watchers": [{"peer_id": ID[2], "host": "h", "port": 0}]},
    ],
)
def test_a_plan_that_does_not_add_up_is_refused(changes):
    with pytest.raises(BadMessage):
        Plan.from_dict(plan(**changes))


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1, "a": 2}', "{", '{"a": Infinity}', "[" * 100_000])
def test_json_that_two_readers_could_read_differently_is_refused(text):
    with pytest.raises(BadMessage):
        parse_json(text.encode())


@given(JSON)
def test_canonical_json_is_one_text_per_value(value):
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


def test_a_pass_is_good_until_it_runs_out_and_only_under_the_backbones_key():
    backbone, other = from_seed(b"b" * 32), from_seed(b"o" * 32)
    admission = Pass.issue(backbone.key, ID[0], 100.0)
    admission.verify(backbone.public_key, now=99.0)
    with pytest.raises(BadSignature, match="run out"):
        admission.verify(backbone.public_key, now=101.0)
    with pytest.raises(BadSignature):
        admission.verify(other.public_key, now=99.0)
    with pytest.raises(BadSignature):
        Pass.from_dict({**admission.to_dict(), "expires_at": 200.0}).verify(backbone.public_key, now=99.0)
