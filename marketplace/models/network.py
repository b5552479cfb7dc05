"""Peers of the training network as the market knows them: enrolment, presence, the backbone's address."""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models

from marketplace.models.account import ApiToken
from marketplace.models.job import Job


class EnrolmentCode(models.Model):
    """A one-time code that binds a peer's key to the account that is paid. Only its hash is kept."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="enrolment_codes"
    )
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"code of {self.user}"


class Peer(models.Model):
    """A worker process by its Ed25519 key; `peer_id` is the SHA-256 of the public key, in hex."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="peers")
    peer_id = models.CharField(max_length=64, unique=True)
    public_key = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=80)
    token = models.ForeignKey(ApiToken, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    active = models.BooleanField(default=True)
    change = models.BigIntegerField(
        default=0, db_index=True, help_text="Order of enrolments and retirements: the backbone's cursor."
    )
    enrolled_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=12, default="offline")
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="peers")
    samples_per_s = models.FloatField(default=0)
    samples_total = models.BigIntegerField(default=0, help_text="Paid samples over all jobs.")
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "enrolled_at"]

    def __str__(self) -> str:
        return self.name

    def is_online(self, now: datetime, stale_s: float) -> bool:
        return self.last_seen_at is not None and (now - self.last_seen_at).total_seconds() < stale_s


class Backbone(models.Model):
    """The platform's own peer: where volunteers find the network."""

    peer_id = models.CharField(max_length=64, unique=True)
    public_key = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField()
    announced_at = models.DateTimeField()

    class Meta:
        ordering = ["-announced_at"]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class JobEarning(models.Model):
    """What one peer contributed to a job and what its owner is paid for it, in nano."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="earnings")
    peer = models.ForeignKey(Peer, on_delete=models.PROTECT, related_name="earnings")
    samples = models.BigIntegerField(default=0)
    amount = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "peer"], name="one_earning_per_peer_and_job")]

    def __str__(self) -> str:
        return f"{self.peer}: {self.amount}"


class Progress(models.Model):
    """Where a reader of another package's news stands (for example ledger settlements)."""

    name = models.CharField(max_length=40, unique=True)
    cursor = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name}: {self.cursor}"
