"""Writes the bearer token of one of the platform's own programs to a file that only its owner may read."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from marketplace.models import ApiToken, User
from marketplace.services.accounts import authenticate_token, issue_token

SCOPES = ("backbone",)


class Command(BaseCommand):
    help = "Makes a service account's token and writes it to a file (0600). Keeps a token that still works."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--scope", choices=SCOPES, required=True)
        parser.add_argument("--file", type=Path, help="default: HYDRA_KEYS_DIR/<scope>-token")

    def handle(self, *args: Any, **options: Any) -> None:
        scope: str = options["scope"]
        path: Path = options["file"] or Path(settings.HYDRA_KEYS_DIR) / f"{scope}-token"
        if _is_usable(path, scope):
            self.stdout.write(f"{path} holds a usable token; nothing to do.")
            return
        account = _service_account(scope)
        ApiToken.objects.filter(user=account, revoked_at=None).update(revoked_at=timezone.now())
        _, secret = issue_token(account, name=f"{scope} service", scopes=[scope], allowed=frozenset(SCOPES))
        _write_private(path, secret)
        self.stdout.write(f"Wrote a new token with the scope {scope} to {path}.")


def _is_usable(path: Path, scope: str) -> bool:
    if not path.exists():
        return False
    token = authenticate_token(path.read_text().strip(), timezone.now())
    return token is not None and scope in token.scopes


def _service_account(scope: str) -> User:
    """An account nobody can log in to: no password, and an address in a domain that cannot exist (RFC 2606)."""
    email = f"{scope}@service.invalid"
    account = User.objects.filter(email=email).first()
    return account or User.objects.create_user(email, display_name=f"Platform ({scope})")


def _write_private(path: Path, secret: str) -> None:
    """The file appears whole and already private."""
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secret + "\n")
    os.replace(waiting, path)
