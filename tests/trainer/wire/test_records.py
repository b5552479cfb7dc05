"""A round's record is believed only when every member signed exactly what it says."""

import pytest

from trainer.errors import BadMessage, BadSignature
from trainer.identity import from_seed
from trainer.wire import Attestation, RoundRecord, verify_record
from trainer.wire.signing import sign, verify

PEERS = [from_seed(bytes([n + 1]) * 32) for n in range(3)]
KEYS = {peer.peer_id: peer.public_key for peer in PEERS}
DIGEST = "cd" * 32
BODY = {"job": "job-1", "step": 4, "term": 2, "batch": 10, "seed": 7, "n_items": 100}


def member(peer, first, count, **changes):
    said = Attestation(**BODY, first=first, count=count, samples=count, digest=DIGEST)
    signed = said.sign(peer.key)
    fields = {"peer_id": peer.peer_id, "first": first, "count": count, "samples": count, "digest": DIGEST}
    return {**fields, "signature": signed, **changes}


def record(**changes):
    members = [member(PEERS[0], 0, 4), member(PEERS[1], 4, 3), member(PEERS[2], 7, 3)]
    fields = {**BODY, "members": members, "loss": 0.5, "digest": DIGEST, "at": "2026-11-30T23:00:00.000Z"}
    return {**fields, **changes}


def test_a_signed_record_is_verified_and_counts_its_samples():
    read = RoundRecord.from_dict(record())
    verify_record(read, KEYS)
    assert read.samples == 10
    assert RoundRecord.from_dict(read.to_dict()) == read


@pytest.mark.parametrize(
    "changes", [{"step": 5}, {"term": 3}, {"job": "job-2"}, {"seed": 8}, {"n_items": 101}], ids=str
)
def test_a_record_altered_after_signing_is_refused(changes):
    with pytest.raises(BadSignature):
        verify_record(RoundRecord.from_dict(record(**changes)), KEYS)


def test_a_peer_cannot_take_a_larger_share_than_it_signed():
    less = {**member(PEERS[1], 4, 3), "first": 5, "count": 2, "samples": 2}
    members = [member(PEERS[0], 0, 5), less, member(PEERS[2], 7, 3)]
    with pytest.raises(BadSignature, match=PEERS[1].peer_id[:12]):
        verify_record(RoundRecord.from_dict(record(members=members)), KEYS)


def test_a_peer_that_is_not_enrolled_is_refused():
    known = {peer_id: key for peer_id, key in KEYS.items() if peer_id != PEERS[2].peer_id}
    with pytest.raises(BadSignature, match="not an enrolled peer"):
        verify_record(RoundRecord.from_dict(record()), known)


def test_another_key_under_a_peers_id_is_refused():
    with pytest.raises(BadSignature, match="not this peer's"):
        verify_record(RoundRecord.from_dict(record()), {**KEYS, PEERS[0].peer_id: PEERS[1].public_key})


@pytest.mark.parametrize(
    "members, why",
    [
        ([member(PEERS[0], 0, 4), member(PEERS[1], 4, 3)], "cover 7"),
        ([member(PEERS[0], 0, 4), member(PEERS[1], 3, 7)], "do not tile"),
        ([member(PEERS[0], 0, 4), member(PEERS[0], 4, 6)], "twice"),
        ([member(PEERS[0], 0, 4), member(PEERS[1], 4, 6, digest="ee" * 32)], "another result"),
        ([member(PEERS[0], 0, 10, samples=11)], "charged"),
        ([], "0 entries"),
    ],
    ids=["gap", "overlap", "twice", "digest", "overcharged", "empty"],
)
def test_shares_must_tile_the_batch(members, why):
    with pytest.raises(BadMessage, match=why):
        RoundRecord.from_dict(record(members=members))


def test_a_signature_for_one_purpose_is_none_for_another():
    signature = sign(PEERS[0].key, "a", {"x": 1})
    verify(PEERS[0].public_key, "a", {"x": 1}, signature)
    with pytest.raises(BadSignature):
        verify(PEERS[0].public_key, "b", {"x": 1}, signature)


@pytest.mark.parametrize("key", ["", "zz", "ab" * 31, "00" * 32])
def test_a_key_that_is_none_is_refused(key):
    with pytest.raises(BadSignature):
        verify(key, "a", {}, "00" * 64)
