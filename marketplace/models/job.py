"""A training job, its rounds as the network recorded them, and its measurements."""

import uuid

from django.conf import settings
from django.db import models

from marketplace.models.release import Release


class Job(models.Model):
    """`credit_limit`, `charged` in nano credits. `samples` counts what the committed rounds recorded."""

    class State(models.TextChoices):
        FUNDING = "funding", "Locking credits"
        READY = "ready", "Waiting for volunteers"
        RUNNING = "running", "Training"
        SETTLING = "settling", "Settling"
        COMPLETED = "completed", "Completed"
        STOPPED = "stopped", "Stopped early"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="jobs")
    recipe = models.CharField(max_length=60)
    recipe_version = models.CharField(max_length=20)
    parameters = models.JSONField(default=dict)
    strategy = models.CharField(max_length=10, default="sync")
    credit_limit = models.BigIntegerField()
    nano_per_sample = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.FUNDING)
    outcome = models.CharField(
        max_length=10, blank=True, help_text="What the backbone reported: completed, stopped, failed."
    )
    reason = models.CharField(max_length=500, blank=True)
    step = models.PositiveIntegerField(default=0)
    samples = models.BigIntegerField(default=0)
    charged = models.BigIntegerField(default=0)
    metrics = models.JSONField(default=dict, blank=True)
    checkpoint_key = models.CharField(max_length=200, blank=True)
    checkpoint_sha256 = models.CharField(max_length=64, blank=True)
    checkpoint_step = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.recipe} on {self.release}"

    @property
    def ledger_ref(self) -> str:
        return f"job:{self.public_id}"

    @property
    def sample_limit(self) -> int:
        """How many samples the locked credits pay for."""
        return self.credit_limit // self.nano_per_sample

    @property
    def is_over(self) -> bool:
        return self.state in {
            self.State.COMPLETED, self.State.STOPPED, self.State.CANCELLED, self.State.FAILED
        }  # fmt: skip


class JobRound(models.Model):
    """A committed round: the record as signed by its members (trainer.wire.RoundRecord)."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="rounds")
    step = models.PositiveIntegerField()
    term = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()
    loss = models.FloatField(null=True, blank=True)
    record = models.JSONField()
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["job", "step"]
        constraints = [models.UniqueConstraint(fields=["job", "step"], name="one_round_per_step")]

    def __str__(self) -> str:
        return f"{self.job} step {self.step}"


class JobMetric(models.Model):
    """One point of a job's curve, measured by the backbone on the held-out split."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="points")
    step = models.PositiveIntegerField()
    loss = models.FloatField(null=True, blank=True)
    accuracy = models.FloatField(null=True, blank=True)
    recorded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["job", "step"]
        constraints = [models.UniqueConstraint(fields=["job", "step"], name="one_point_per_step")]

    def __str__(self) -> str:
        return f"{self.job} step {self.step}: {self.accuracy}"
