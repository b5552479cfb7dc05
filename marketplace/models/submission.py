"""A submission: one batch of uploads by one contributor to one campaign."""

import uuid

from django.conf import settings
from django.db import models

from marketplace.models.campaign import Campaign


class Submission(models.Model):
    """States go forward only: receiving → queued → validating → judged (some items may still await a person)."""

    class State(models.TextChoices):
        RECEIVING = "receiving", "Receiving files"
        QUEUED = "queued", "Waiting for validation"
        VALIDATING = "validating", "Being validated"
        JUDGED = "judged", "Validated"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="submissions")
    contributor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions"
    )
    state = models.CharField(max_length=12, choices=State.choices, default=State.RECEIVING)
    consent_version = models.PositiveIntegerField()
    idempotency_key = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    validating_since = models.DateTimeField(null=True, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)
    stage = models.CharField(max_length=40, blank=True, help_text="What validation is doing now, in words.")
    timings = models.JSONField(
        default=dict, blank=True, help_text="Seconds by part: decode, hash, embed, model, database."
    )

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["contributor", "campaign", "idempotency_key"],
                condition=~models.Q(idempotency_key=""),
                name="one_submission_per_idempotency_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign.title}, {self.created_at:%Y-%m-%d %H:%M}"
