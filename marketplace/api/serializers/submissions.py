"""Submissions, the files sent into them, and their counts."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.serializers.fields import SmallJSON
from marketplace.api.serializers.items import EvidenceOut, ItemOut
from marketplace.models import Submission


class Counts(serializers.Serializer[Any]):
    """Always: received = accepted + duplicate + rejected + ignored + pending."""

    received = serializers.IntegerField()
    accepted = serializers.IntegerField()
    duplicate = serializers.IntegerField()
    rejected = serializers.IntegerField()
    ignored = serializers.IntegerField()
    pending = serializers.IntegerField()


class SubmissionOut(serializers.ModelSerializer[Submission]):
    id = serializers.UUIDField(source="public_id")
    campaign = serializers.CharField(source="campaign.slug")
    contributor = serializers.CharField(source="contributor.shown_name")
    mine = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()

    class Meta:
        model = Submission
        fields = [
            "id", "campaign", "contributor", "mine", "state", "stage", "consent_version", "counts", "created_at",
            "completed_at", "judged_at",
        ]  # fmt: skip

    def get_mine(self, submission: Submission) -> bool:
        return bool(submission.contributor_id == self.context["request"].user.pk)

    @extend_schema_field(Counts())
    def get_counts(self, submission: Submission) -> Any:
        return Counts(self.context["counts"][submission.pk]).data


class SubmissionDetail(SubmissionOut):
    evidence = EvidenceOut(
        many=True,
        help_text="About the submission as a whole: label plausibility, effect on each group's balance.",
    )

    class Meta(SubmissionOut.Meta):
        fields = [*SubmissionOut.Meta.fields, "evidence"]


class SubmissionIn(serializers.Serializer[Any]):
    consent_version = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        help_text="The version of the campaign's consent text that was agreed to.",
    )


class FileIn(serializers.Serializer[Any]):
    """One file: an image, a text, a CSV or JSONL of rows, or a ZIP of them (one folder per class)."""

    file = serializers.FileField(max_length=4096, allow_empty_file=True)
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=120,
        required=False,
        allow_blank=True,
        help_text="Class of everything in the file without one.",
    )
    attributes = SmallJSON(
        kind=dict,
        binary=True,
        required=False,
        help_text='JSON object of declared groups, such as {"sex": "F"}.',
    )
    encoding = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        help_text="Of a table or text, where the guess was wrong.",
    )
    delimiter = serializers.CharField(
        max_length=4,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Of a table, likewise.",
    )
    relative_path = serializers.CharField(
        max_length=4096,
        required=False,
        allow_blank=True,
        help_text="Folder/name as chosen; the folder may name the class.",
    )


class FileAnswer(serializers.Serializer[Any]):
    received = serializers.IntegerField(help_text="How many items the file made.")
    items = ItemOut(many=True, help_text="The first 500 of them.")
