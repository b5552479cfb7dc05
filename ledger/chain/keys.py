"""Private keys in files, one for each role, readable by their owner only. The web process is given no folder, so it holds none.

A KMS takes this place by offering the same two methods, `address` and `sign`.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from eth_account import Account
from eth_account.signers.local import LocalAccount

from ledger.chain.port import ROLES, Role
from ledger.errors import KeyMissing

PRIVATE = 0o600


class Signer(Protocol):
    """Whoever can sign for roles. Both methods raise KeyMissing."""

    def address(self, role: Role) -> str: ...

    def sign(self, role: Role, transaction: Mapping[str, Any]) -> tuple[bytes, str]:
        """Returns the signed bytes and their hash (0x…)."""
        ...


class KeyFiles:
    """Signs with the files `<role>.key` in `folder`: 64 hex digits, mode 0600. A looser mode is refused, not repaired."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: dict[str, LocalAccount] = {}

    def address(self, role: Role) -> str:
        return self.account(role).address

    def sign(self, role: Role, transaction: Mapping[str, Any]) -> tuple[bytes, str]:
        signed = self.account(role).sign_transaction(dict(transaction))
        return bytes(signed.raw_transaction), signed.hash.to_0x_hex()

    def account(self, role: Role) -> LocalAccount:
        if role not in self.loaded:
            self.loaded[role] = self.load(role)
        return self.loaded[role]

    def load(self, role: Role) -> LocalAccount:
        path = key_path(self.folder, role)
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            text = path.read_text().strip()
        except OSError as error:
            raise KeyMissing(role, str(path), error.strerror or str(error)) from error
        if mode & 0o077:
            raise KeyMissing(
                role,
                str(path),
                f"its mode {mode:04o} lets others read it; run chmod 600 and think of who did",
            )
        try:
            return Account.from_key(text)
        except ValueError as error:  # eth-account's message may quote the key: leave it out
            raise KeyMissing(
                role, str(path), "the file does not hold 64 hex digits"
            ) from error.with_traceback(None)


class NoKeys:
    """What a process that must not sign is given."""

    def address(self, role: Role) -> str:
        raise KeyMissing(role, "(none)", "this process was given no keys")

    def sign(self, role: Role, transaction: Mapping[str, Any]) -> tuple[bytes, str]:
        raise KeyMissing(role, "(none)", "this process was given no keys")


def create_keys(folder: Path, roles: Iterable[Role] = ROLES) -> list[Path]:
    """Makes the key files that are missing and returns them. For the embedded chain; elsewhere an operator brings the keys."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [path for role in roles if create_key(path := key_path(folder, role))]


def create_key(path: Path) -> bool:
    """Writes one fresh key unless the file exists. Never overwrites: O_EXCL decides between two that race."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32) + "\n")
    return True


def key_path(folder: Path, role: Role) -> Path:
    return folder / f"{role}.key"
