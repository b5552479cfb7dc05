"""Campaigns: what is asked for, on which terms, with which budget."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.serializers.fields import AmountNano, Money, SmallJSON
from marketplace.api.visibility import is_owner
from marketplace.models import Campaign, Modality


class Budget(serializers.Serializer[Any]):
    funded = Money(help_text="Put in by sponsors.")
    reserved = Money(help_text="Promised to accepted items, not yet settled.")
    settled = Money(help_text="Paid, confirmed on the ledger.")
    remaining = Money(help_text="What further rewards can draw on.")


class CampaignOut(serializers.ModelSerializer[Campaign]):
    id = serializers.UUIDField(source="public_id")
    owner = serializers.CharField(source="owner.shown_name")
    mine = serializers.SerializerMethodField(help_text="Whether the caller owns it.")
    classes = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(
        child=serializers.DictField(),
        help_text='Tabular: [{"name", "type": "number"|"category", "values"?}].',
    )
    attributes = serializers.ListField(
        child=serializers.DictField(),
        help_text='Declared groups: [{"name", "values": […], "targets": {value: share}}].',
    )
    policy = serializers.DictField(help_text="Thresholds that differ from the platform's defaults.")
    reward_base = Money(help_text="For an item of full quality, novelty and scarcity.")

    class Meta:
        model = Campaign
        fields = [
            "id", "slug", "title", "description", "owner", "mine", "modality", "state", "classes", "columns",
            "label_column", "text_column", "attributes", "image_channels", "image_min_side", "licence",
            "consent_text", "consent_version", "policy", "policy_version", "reward_base", "deadline", "created_at",
            "opened_at", "closed_at",
        ]  # fmt: skip

    def get_mine(self, campaign: Campaign) -> bool:
        return is_owner(self.context["request"].user, campaign)


class CampaignDetail(CampaignOut):
    budget = serializers.SerializerMethodField()

    class Meta(CampaignOut.Meta):
        fields = [*CampaignOut.Meta.fields, "budget"]

    @extend_schema_field(Budget())
    def get_budget(self, campaign: Campaign) -> Any:
        return Budget(self.context["budget"]).data


class CampaignIn(serializers.Serializer[Any]):
    """A new campaign; it starts as a draft that only its owner sees."""

    title = serializers.CharField(max_length=120)
    slug = serializers.SlugField(
        max_length=80, required=False, help_text="Part of its address; made from the title where absent."
    )
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    modality = serializers.ChoiceField(choices=Modality.choices)
    classes = serializers.ListField(
        child=serializers.CharField(max_length=120), min_length=1, max_length=1000
    )
    columns = SmallJSON(kind=list, max_bytes=65_536, required=False)
    label_column = serializers.CharField(max_length=80, required=False)
    text_column = serializers.CharField(max_length=80, required=False)
    attributes = SmallJSON(kind=list, max_bytes=65_536, required=False)
    image_channels = serializers.ChoiceField(choices=[1, 3], required=False)
    image_min_side = serializers.IntegerField(min_value=1, max_value=4096, required=False)
    licence = serializers.CharField(max_length=80, required=False)
    consent_text = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    policy = SmallJSON(kind=dict, required=False)
    reward_base_nano = AmountNano(required=False, help_text="Default 1 HYD.")
    deadline = serializers.DateTimeField(required=False, allow_null=True)


class CampaignChange(CampaignIn):
    """Any of the fields but its address; once open, what contributors have agreed to no longer changes."""

    slug = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "partial": True})


class FundIn(serializers.Serializer[Any]):
    amount_nano = AmountNano(help_text="How much to add to the campaign's budget.")
