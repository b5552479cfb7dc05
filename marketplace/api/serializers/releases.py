"""Releases: immutable versions of a campaign's accepted items."""

from rest_framework import serializers

from marketplace.models import Release


class ReleaseOut(serializers.ModelSerializer[Release]):
    id = serializers.UUIDField(source="public_id")
    campaign = serializers.CharField(source="campaign.slug")
    title = serializers.CharField(source="campaign.title")
    modality = serializers.CharField(source="campaign.modality")

    class Meta:
        model = Release
        fields = [
            "id", "campaign", "title", "version", "modality", "state", "train_items", "test_items",
            "manifest_sha256", "failure", "created_at", "ready_at",
        ]  # fmt: skip
