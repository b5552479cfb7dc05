"""A campaign: what is asked for, on which terms, how it is judged and paid."""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models


class Modality(models.TextChoices):
    IMAGE = "image", "Image classification"
    TEXT = "text", "Text classification"
    TABULAR = "tabular", "Tabular rows"


class Campaign(models.Model):
    """Money is in nano (10⁻⁹ HYD). JSON fields are validated by rules.schema before they are stored.

    `classes`: list of labels. `columns` (tabular): [{"name", "type": "number"|"category", "values"?, "low"?, "high"?}].
    `attributes`: [{"name", "values": […], "targets": {value: share}}], the declared groups for bias.
    `policy`: acceptance thresholds by name (rules.admission.POLICY_DEFAULTS fills what is absent).
    """

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="campaigns")
    modality = models.CharField(max_length=12, choices=Modality.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    classes = models.JSONField(default=list)
    columns = models.JSONField(default=list, blank=True)
    label_column = models.CharField(max_length=80, default="label", blank=True)
    text_column = models.CharField(max_length=80, default="text", blank=True)
    attributes = models.JSONField(default=list, blank=True)
    image_channels = models.PositiveSmallIntegerField(default=3)
    image_min_side = models.PositiveIntegerField(default=128, help_text="Smallest side accepted, in pixels.")
    licence = models.CharField(max_length=80, default="CC-BY-4.0")
    consent_text = models.TextField(blank=True)
    consent_version = models.PositiveIntegerField(default=1)
    policy = models.JSONField(default=dict, blank=True)
    policy_version = models.PositiveIntegerField(default=1)
    reward_base = models.BigIntegerField(default=10**9, help_text="Nano HYD for an item of full quality.")
    deadline = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @property
    def ledger_ref(self) -> str:
        return f"campaign:{self.public_id}"

    def accepts_uploads(self, now: datetime) -> bool:
        return self.state == self.State.OPEN and (self.deadline is None or now < self.deadline)
