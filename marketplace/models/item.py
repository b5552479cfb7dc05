"""An item: one received thing with its label, and what became of it.

Everything received is a row, also what was ignored or refused, so that
received = accepted + duplicate + rejected + ignored + pending can be counted rather than claimed.
"""

import uuid

from django.conf import settings
from django.db import models

from marketplace.models.campaign import Campaign
from marketplace.models.submission import Submission


class Item(models.Model):
    """Original bytes stay private under `original_key`; only `served_key` (re-encoded, no metadata) is shown.

    `features` holds what the duplicate index needs (hashes, a thumbnail ≤ 1 KB in base64).
    """

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        ACCEPTED = "accepted", "Accepted"
        DUPLICATE = "duplicate", "Duplicate"
        REJECTED = "rejected", "Rejected"
        IGNORED = "ignored", "Ignored"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="items")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="items")
    contributor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="items")
    position = models.PositiveIntegerField(help_text="Order of arrival in the submission.")
    name = models.CharField(max_length=300, help_text="Name as received, cut and made safe to show.")
    locator = models.CharField(max_length=300, blank=True, help_text="Where inside the file: row or member.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=500, blank=True)
    needs_review = models.BooleanField(default=False)
    label = models.CharField(max_length=120, blank=True)
    text = models.TextField(blank=True)
    row = models.JSONField(null=True, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    original_sha256 = models.CharField(max_length=64, blank=True)
    content_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the normalised content.")
    original_key = models.CharField(max_length=200, blank=True)
    served_key = models.CharField(max_length=200, blank=True)
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    measures = models.JSONField(default=dict, blank=True)
    features = models.JSONField(default=dict, blank=True)
    duplicate_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="duplicates"
    )
    quality = models.FloatField(null=True, blank=True, help_text="0 to 1, from the validators' evidence.")
    novelty = models.FloatField(null=True, blank=True)
    scarcity = models.FloatField(null=True, blank=True)
    reward = models.BigIntegerField(default=0, help_text="Nano HYD reserved on acceptance.")
    reward_key = models.CharField(max_length=80, blank=True, help_text="Names the reservation in the ledger.")
    reward_status = models.CharField(max_length=10, blank=True, help_text="As last heard from the ledger.")
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["submission", "position"]
        indexes = [
            models.Index(fields=["campaign", "state", "needs_review"]),
            models.Index(fields=["contributor", "state"]),
            models.Index(fields=["campaign", "original_sha256"]),
            models.Index(fields=["campaign", "content_sha256"]),
        ]
        constraints = [
            models.UniqueConstraint(fields=["submission", "position"], name="one_item_per_position"),
            models.UniqueConstraint(
                fields=["campaign", "original_sha256"],
                condition=models.Q(state__in=["pending", "accepted"]) & ~models.Q(original_sha256=""),
                name="same_bytes_live_once_per_campaign",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def ledger_ref(self) -> str:
        return f"item:{self.public_id}"
