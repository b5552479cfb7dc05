"""One encoding for everything that is hashed or signed: JSON with sorted keys, no spaces, UTF-8, no NaN."""

import hashlib
import json
from typing import Any

from trainer.errors import BadMessage


def canonical_json(value: Any) -> bytes:
    """The bytes that are signed. Equal values give equal bytes on every machine that runs Python.

    Raises: BadMessage for what JSON cannot say (NaN, infinity, bytes, keys that are not text).
    Floats are written by `repr`, which is exact; other languages must print the shortest round-trip form too.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise BadMessage("json", "", f"cannot be written: {error}") from error


def parse_json(data: bytes | bytearray | memoryview, what: str = "json") -> Any:
    """Strict: UTF-8, no NaN or infinity, no key twice. Raises BadMessage."""
    try:
        return json.loads(bytes(data), parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadMessage(what, "", f"not the JSON expected here: {error}") from error


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical encoding, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that peers may send")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found
