"""Evidence as bytes: one value has one digest, and a proof stands only for its own row."""

import json

import pytest

from marketplace.rules.evidence import (
    EMPTY_ROOT,
    Statement,
    canonical_json,
    plain,
    proof_of,
    root_of,
    verifies,
)

DIGESTS = [Statement("item:1", name, "1", 0, "ok", 0.5).digest() for name in "abcdefg"]


def test_numbers_survive_another_decoder():
    value = {"b": 0.1 + 0.2, "a": [3.0, -0.0, float("inf")], "c": None}
    assert canonical_json(plain(value)) == b'{"a":[3,0,null],"b":0.3,"c":null}'
    assert plain(json.loads(canonical_json(plain(value)))) == plain(value)


def test_a_statement_read_back_has_the_same_digest():
    made = Statement(
        "item:1", "labels", "1", 7, "suspect", 0.123456789, reasons=("Größe",), data={"p": 1 / 3}
    )
    stored = json.loads(json.dumps(made.as_json()))
    again = Statement(**{**stored, "reasons": tuple(stored["reasons"])})
    assert again.digest() == made.digest()


def test_another_subject_is_another_digest():
    assert (
        Statement("item:1", "a", "1", 0, "ok", None).digest()
        != Statement("item:2", "a", "1", 0, "ok", None).digest()
    )


def test_order_of_rows_changes_nothing():
    assert root_of(DIGESTS) == root_of(DIGESTS[::-1])
    assert root_of([]) == EMPTY_ROOT


@pytest.mark.parametrize("count", range(1, 8))
def test_every_row_is_proven_and_no_other(count):
    digests = DIGESTS[:count]
    root = root_of(digests)
    for digest in digests:
        proof = proof_of(digests, digest)
        assert verifies(digest, proof, root)
        assert not verifies("00" * 32, proof, root)
        assert not verifies(digest, proof, bytes(32))


def test_a_row_that_is_not_there_has_no_proof():
    with pytest.raises(ValueError):
        proof_of(DIGESTS, "00" * 32)
