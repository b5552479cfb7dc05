"""Evidence: what one validator found about an item, a submission or a campaign. Never changed, only added."""

import uuid

from django.db import models

from marketplace.models.campaign import Campaign
from marketplace.models.item import Item
from marketplace.models.submission import Submission


class Evidence(models.Model):
    """Exactly one of `item`, `submission`, `campaign` is the subject. `score` is 0 (bad) to 1 (good)."""

    class Outcome(models.TextChoices):
        OK = "ok", "Good"
        SUSPECT = "suspect", "Suspect"
        BAD = "bad", "Bad"
        UNKNOWN = "not_enough_evidence", "Not enough evidence"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    item = models.ForeignKey(Item, null=True, blank=True, on_delete=models.CASCADE, related_name="evidence")
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="evidence"
    )
    campaign = models.ForeignKey(
        Campaign, null=True, blank=True, on_delete=models.CASCADE, related_name="evidence"
    )
    validator = models.CharField(max_length=60)
    version = models.CharField(max_length=20)
    seed = models.BigIntegerField(default=0)
    score = models.FloatField(null=True, blank=True)
    direction = models.CharField(max_length=10, default="quality")
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    reasons = models.JSONField(default=list)
    data = models.JSONField(default=dict, blank=True)
    input_sha256 = models.CharField(max_length=64, blank=True)
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of the canonical JSON: the Merkle leaf's content."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["validator", "-created_at"]
        verbose_name_plural = "evidence"
        constraints = [
            models.CheckConstraint(
                name="evidence_has_one_subject",
                condition=(
                    models.Q(item__isnull=False, submission__isnull=True, campaign__isnull=True)
                    | models.Q(item__isnull=True, submission__isnull=False, campaign__isnull=True)
                    | models.Q(item__isnull=True, submission__isnull=True, campaign__isnull=False)
                ),
            )
        ]

    def __str__(self) -> str:
        return f"{self.validator} {self.version}: {self.outcome}"
