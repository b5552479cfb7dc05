"""Ed25519 over canonical JSON. A peer's id is the SHA-256 of its raw public key, in hex."""

import hashlib
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from trainer.errors import BadSignature
from trainer.wire.canonical import canonical_json


def peer_id_of(public_key: str) -> str:
    """`public_key`: 32 bytes in hex. Raises BadSignature when it is not."""
    return hashlib.sha256(_key_bytes(public_key)).hexdigest()


def sign(key: Ed25519PrivateKey, purpose: str, body: Mapping[str, Any]) -> str:
    """The purpose is part of what is signed, so that no signature can be used as one of another kind."""
    return key.sign(_signed_bytes(purpose, body)).hex()


def verify(public_key: str, purpose: str, body: Mapping[str, Any], signature: str) -> None:
    """Raises: BadSignature (drop the peer). Says nothing about whether the key is one that we know."""
    try:
        key = Ed25519PublicKey.from_public_bytes(_key_bytes(public_key))
        key.verify(bytes.fromhex(signature), _signed_bytes(purpose, body))
    except (InvalidSignature, ValueError) as error:
        raise BadSignature(purpose, peer_id_of(public_key)) from error


def _signed_bytes(purpose: str, body: Mapping[str, Any]) -> bytes:
    return purpose.encode() + b"\n" + canonical_json(dict(body))


def _key_bytes(public_key: str) -> bytes:
    try:
        raw = bytes.fromhex(public_key)
    except (ValueError, TypeError) as error:
        raise BadSignature("public key", "", "not hexadecimal") from error
    if len(raw) != 32:
        raise BadSignature("public key", "", f"{len(raw)} bytes instead of 32")
    return raw
