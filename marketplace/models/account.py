"""People, what they may do, and the tokens by which their programs act for them.

Roles are Django groups granted in the admin; `ApiToken` keeps only a hash of the secret.
"""

import hashlib
import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models

MODERATORS = "Moderators"
SPONSORS = "Sponsors"


class UserManager(BaseUserManager["User"]):
    """Makes accounts that log in with an e-mail address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractUser):
    """A person (or the platform's own service account)."""

    username = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    display_name = models.CharField(max_length=80, blank=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()  # type: ignore[assignment,misc]

    class Meta:
        permissions = [("moderate", "Can judge items of any campaign"), ("sponsor", "Can create campaigns")]

    def __str__(self) -> str:
        return self.shown_name

    @property
    def shown_name(self) -> str:
        """A name that may be shown to others: never the e-mail address."""
        return self.display_name or f"contributor {self.public_id.hex[:6]}"

    @property
    def ledger_ref(self) -> str:
        return f"user:{self.public_id}"

    @property
    def is_moderator(self) -> bool:
        return self.has_perm("marketplace.moderate")

    @property
    def is_sponsor(self) -> bool:
        return self.has_perm("marketplace.sponsor")


class ApiToken(models.Model):
    """A bearer token. The secret (`hyd_…`) is shown once; the row keeps its SHA-256."""

    SCOPES = ("read", "write", "moderate", "backbone", "peer")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def digest_of(secret: str) -> str:
        return hashlib.sha256(secret.encode()).hexdigest()

    def is_usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
