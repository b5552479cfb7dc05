"""Items with their evidence, and the verdicts on them."""

from typing import Any

from rest_framework import serializers

from marketplace.api.serializers.fields import Money
from marketplace.api.visibility import is_owner
from marketplace.models import Evidence, Item, Verdict

MAX_BULK = 500


class ItemOut(serializers.ModelSerializer[Item]):
    id = serializers.UUIDField(source="public_id")
    submission = serializers.UUIDField(source="submission.public_id")
    campaign = serializers.CharField(source="campaign.slug")
    duplicate_of = serializers.SerializerMethodField(
        help_text="The item it repeats, where the caller may see that one."
    )
    attributes = serializers.DictField(child=serializers.CharField())
    reward = Money()

    class Meta:
        model = Item
        fields = [
            "id", "submission", "campaign", "position", "name", "locator", "state", "reason", "needs_review", "label",
            "attributes", "width", "height", "quality", "novelty", "scarcity", "reward", "reward_status",
            "duplicate_of", "original_sha256", "created_at", "decided_at",
        ]  # fmt: skip

    def get_duplicate_of(self, item: Item) -> str | None:
        first = item.duplicate_of
        caller = self.context["request"].user
        if first is None:
            return None
        theirs = is_owner(caller, item.campaign) or first.contributor_id == caller.pk
        return str(first.public_id) if theirs or self.context["sees_all"] else None


class EvidenceOut(serializers.ModelSerializer[Evidence]):
    id = serializers.UUIDField(source="public_id")
    reasons = serializers.ListField(child=serializers.CharField(), help_text="In words.")
    data = serializers.DictField(help_text="The measures behind the score.")  # type: ignore[assignment]

    class Meta:
        model = Evidence
        fields = [
            "id", "validator", "version", "seed", "score", "direction", "outcome", "reasons", "data", "input_sha256",
            "digest", "created_at",
        ]  # fmt: skip


class VerdictOut(serializers.ModelSerializer[Verdict]):
    id = serializers.UUIDField(source="public_id")
    by = serializers.SerializerMethodField(help_text='"policy", or the moderator\'s shown name.')

    class Meta:
        model = Verdict
        fields = ["id", "sequence", "outcome", "by", "reason", "policy_version", "created_at"]

    def get_by(self, verdict: Verdict) -> str:
        return verdict.moderator.shown_name if verdict.moderator else "policy"


class ItemDetail(ItemOut):
    text = serializers.CharField()
    row = serializers.DictField(allow_null=True)
    measures = serializers.DictField(help_text="Technical measures of the content.")
    evidence = EvidenceOut(many=True)
    verdicts = VerdictOut(many=True)

    class Meta(ItemOut.Meta):
        fields = [*ItemOut.Meta.fields, "text", "row", "measures", "evidence", "verdicts"]


class VerdictIn(serializers.Serializer[Any]):
    outcome = serializers.ChoiceField(choices=["accepted", "rejected"])
    reason = serializers.CharField(max_length=500, help_text="In words; the contributor reads it.")


class VerdictsIn(VerdictIn):
    """One decision on several items: all of them or, where one is refused, none."""

    items = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MAX_BULK)
