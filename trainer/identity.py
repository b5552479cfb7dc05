"""Who a peer is: an Ed25519 key in its home folder, readable by its owner only."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from trainer.errors import SettingInvalid
from trainer.wire.signing import peer_id_of

KEY_FILE = "peer.key"


@dataclass(frozen=True)
class Identity:
    key: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        return self.key.public_key().public_bytes_raw().hex()

    @property
    def peer_id(self) -> str:
        return peer_id_of(self.public_key)


def from_seed(seed: bytes) -> Identity:
    """An identity from 32 secret bytes; tests pass fixed ones."""
    return Identity(Ed25519PrivateKey.from_private_bytes(seed))


def load_or_create(home: Path) -> Identity:
    """The key in `home`, made on first use with mode 0600. Raises SettingInvalid for a key others can read."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / KEY_FILE
    try:
        return _create(path)
    except FileExistsError:
        return _load(path)


def _create(path: Path) -> Identity:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    identity = Identity(Ed25519PrivateKey.generate())
    with os.fdopen(descriptor, "w") as file:
        file.write(identity.key.private_bytes_raw().hex())
        file.flush()
        os.fsync(file.fileno())
    return identity


def _load(path: Path) -> Identity:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise SettingInvalid(str(path), f"others can read this key (mode {mode:o}); run chmod 600 on it")
    try:
        return from_seed(bytes.fromhex(path.read_text().strip()))
    except ValueError as error:
        raise SettingInvalid(str(path), "not a key of this program; move it away to get a new one") from error
