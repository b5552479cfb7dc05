"""A release: an immutable, numbered list of accepted items with splits, files and hashes."""

import uuid

from django.conf import settings
from django.db import models

from marketplace.models.campaign import Campaign
from marketplace.models.item import Item


class Release(models.Model):
    """Files lie under MEDIA_ROOT/releases/<public_id>/; `manifest` is manifest.json as published."""

    class State(models.TextChoices):
        BUILDING = "building", "Being built"
        READY = "ready", "Ready"
        FAILED = "failed", "Failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="releases")
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.BUILDING)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True, blank=True)
    manifest = models.JSONField(default=dict, blank=True)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    train_items = models.PositiveIntegerField(default=0)
    test_items = models.PositiveIntegerField(default=0)
    failure = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "version"], name="one_release_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.campaign.title} v{self.version}"


class ReleaseItem(models.Model):
    """An item in a release; `position` counts within its split, in the order of the files."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="entries")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="releases")
    split = models.CharField(max_length=5, choices=[("train", "train"), ("test", "test")])
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["release", "split", "position"]
        constraints = [
            models.UniqueConstraint(fields=["release", "item"], name="item_once_per_release"),
            models.UniqueConstraint(
                fields=["release", "split", "position"], name="one_item_per_release_position"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release} {self.split} {self.position}"
