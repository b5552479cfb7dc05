"""Verdicts: append-only decisions on items, each with its author and reason."""

import uuid

from django.conf import settings
from django.db import models

from marketplace.models.item import Item


class Verdict(models.Model):
    """`moderator` is empty when the campaign's policy decided. The newest verdict of an item is in force."""

    class Outcome(models.TextChoices):
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"
        DUPLICATE = "duplicate", "Duplicate"
        NEEDS_REVIEW = "needs_review", "Needs review"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="verdicts")
    sequence = models.PositiveIntegerField(help_text="1, 2, … per item: two decisions at once collide here.")
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    moderator = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="verdicts"
    )
    reason = models.CharField(max_length=500)
    policy_version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item", "sequence"]
        constraints = [models.UniqueConstraint(fields=["item", "sequence"], name="one_verdict_per_sequence")]

    def __str__(self) -> str:
        return f"{self.item}: {self.outcome}"


class IdempotentRequest(models.Model):
    """What was answered to a request with an Idempotency-Key: the same key with another body is refused."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    door = models.CharField(max_length=60)
    key = models.CharField(max_length=100)
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "door", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.door} {self.key}"
