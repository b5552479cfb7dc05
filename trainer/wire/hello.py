"""The messages that open a channel: both ends sign both nonces, so that nothing recorded earlier can be played back.

Without TLS the channel behind the handshake is not bound to it: a man in the middle can relay. TLS is to close that.
"""

from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from trainer.errors import BadSignature
from trainer.wire.fields import (
    Checked,
    Message,
    hexadecimal,
    integer,
    number,
    one_of,
    optional,
    record,
    rule,
    text,
)
from trainer.wire.signing import sign, verify

PROTOCOL = 1
PURPOSES = ("control", "parts", "pieces")
PEER = hexadecimal(32)
REASON = text(500)


class Pass(Checked):
    """The backbone's word that a peer is enrolled, for peers that meet without it. Signed by the backbone's key."""

    KIND: ClassVar[str] = "pass"
    PURPOSE: ClassVar[str] = "hydra-pass/1"
    peer_id: str = rule(PEER)
    expires_at: float = rule(number(0, 1e11))
    signature: str = rule(hexadecimal(64))

    @classmethod
    def issue(cls, key: Ed25519PrivateKey, peer_id: str, expires_at: float) -> "Pass":
        body = {"peer_id": peer_id, "expires_at": float(expires_at)}
        return cls(peer_id=peer_id, expires_at=expires_at, signature=sign(key, cls.PURPOSE, body))

    def verify(self, backbone_key: str, now: float) -> None:
        """Raises BadSignature when another key signed it, or when it has run out."""
        body = {"peer_id": self.peer_id, "expires_at": self.expires_at}
        verify(backbone_key, self.PURPOSE, body, self.signature)
        if now > self.expires_at:
            raise BadSignature("pass", self.peer_id, "it has run out")


class Hello(Message):
    """Opens a channel. `expects` is the id that the caller wants to find at the other end."""

    KIND = "hello"
    protocol: int = rule(integer(1, 1000))
    public_key: str = rule(hexadecimal(32))
    expects: str = rule(PEER)
    nonce: str = rule(hexadecimal(16))
    at: float = rule(number(0, 1e11))
    purpose: str = rule(one_of(*PURPOSES))


class HelloReply(Message):
    KIND = "hello-reply"
    public_key: str = rule(hexadecimal(32))
    nonce: str = rule(hexadecimal(16))
    at: float = rule(number(0, 1e11))
    signature: str = rule(hexadecimal(64))


class HelloProof(Message):
    KIND = "hello-proof"
    signature: str = rule(hexadecimal(64))
    admission: Pass | None = rule(optional(record(Pass)))


class Refused(Message):
    """Why the channel is about to be closed."""

    KIND = "refused"
    reason: str = rule(REASON)
