"""Recipes, jobs, their rounds and curves."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from marketplace.api.serializers.fields import AmountNano, Money, SmallJSON
from marketplace.models import Job, JobMetric, JobRound
from marketplace.selectors.jobs import earnings


class ParameterOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField(help_text="int or float.")
    default = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    help = serializers.CharField()


class RecipeOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField()
    modality = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    parameters = ParameterOut(many=True)
    price_per_sample = Money(source="nano_per_sample", help_text="A job's price is samples × this.")


class RecipesPage(serializers.Serializer[Any]):
    results = RecipeOut(many=True)
    next = serializers.URLField(allow_null=True, help_text="Always null: there are few.")


class JobIn(serializers.Serializer[Any]):
    release = serializers.UUIDField(help_text="A ready release.")
    recipe = serializers.CharField(
        max_length=60, help_text="A name from GET /recipes, of the release's modality."
    )
    parameters = SmallJSON(
        kind=dict, required=False, default=dict, help_text="Hyper-parameters that differ from the defaults."
    )
    strategy = serializers.ChoiceField(choices=["sync"], required=False, default="sync")
    credit_limit_nano = AmountNano(help_text="Locked at once; what the job does not use is given back.")


class CheckpointFacts(serializers.Serializer[Any]):
    step = serializers.IntegerField()
    sha256 = serializers.CharField()


class JobOut(serializers.ModelSerializer[Job]):
    id = serializers.UUIDField(source="public_id")
    release = serializers.UUIDField(source="release.public_id")
    campaign = serializers.CharField(source="release.campaign.slug")
    parameters = serializers.DictField()
    metrics = serializers.DictField(help_text="As the backbone measured on the held-out split.")
    credit_limit = Money()
    price_per_sample = Money(source="nano_per_sample")
    charged = Money()
    sample_limit = serializers.IntegerField(help_text="Samples that the locked credits pay for.")
    is_over = serializers.BooleanField()
    checkpoint = serializers.SerializerMethodField(help_text="The newest checkpoint, or null.")

    class Meta:
        model = Job
        fields = [
            "id", "release", "campaign", "recipe", "recipe_version", "parameters", "strategy", "state", "is_over",
            "outcome", "reason", "step", "samples", "sample_limit", "credit_limit", "price_per_sample", "charged",
            "metrics", "checkpoint", "created_at", "started_at", "finished_at",
        ]  # fmt: skip

    @extend_schema_field(CheckpointFacts(allow_null=True))
    def get_checkpoint(self, job: Job) -> dict[str, Any] | None:
        return checkpoint_of(job)


class EarningOut(serializers.Serializer[Any]):
    peer = serializers.CharField(source="peer.name")
    owner = serializers.CharField(source="owner_name", help_text="The volunteer's shown name.")
    samples = serializers.IntegerField()
    share = serializers.FloatField(help_text="Of the job's samples.")
    amount = Money(help_text="0 until the job is settled.")


class JobDetail(JobOut):
    earnings = serializers.SerializerMethodField(help_text="Who trained it, and what they are paid.")

    class Meta(JobOut.Meta):
        fields = [*JobOut.Meta.fields, "earnings"]

    @extend_schema_field(EarningOut(many=True))
    def get_earnings(self, job: Job) -> Any:
        return EarningOut(earnings(job), many=True).data


def checkpoint_of(job: Job) -> dict[str, Any] | None:
    if not job.checkpoint_key:
        return None
    return {"step": job.checkpoint_step, "sha256": job.checkpoint_sha256}


class RoundOut(serializers.ModelSerializer[JobRound]):
    record = serializers.DictField(help_text="As signed by its members.")

    class Meta:
        model = JobRound
        fields = ["step", "term", "samples", "loss", "record", "recorded_at"]


class PointOut(serializers.ModelSerializer[JobMetric]):
    at = serializers.DateTimeField(source="recorded_at")

    class Meta:
        model = JobMetric
        fields = ["step", "loss", "accuracy", "at"]


class RoundPoint(serializers.Serializer[Any]):
    step = serializers.IntegerField()
    loss = serializers.FloatField(allow_null=True)
    samples = serializers.IntegerField()
    peers = serializers.IntegerField()


class CurveOut(serializers.Serializer[Any]):
    points = PointOut(many=True, help_text="Measured on the held-out split.")
    rounds = RoundPoint(many=True, help_text="Training loss per committed round, thinned to at most 1,000.")


class BatchOut(serializers.Serializer[Any]):
    step = serializers.IntegerField()
    items = serializers.ListField(child=serializers.UUIDField(), help_text="In the order they were drawn.")
