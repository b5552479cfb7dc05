"""Volunteers, peers, and what the backbone reports."""

from typing import Any

from rest_framework import serializers

from marketplace.api.serializers.fields import FiniteFloat, SmallJSON
from marketplace.models import Backbone, Peer

HEX32 = r"^[0-9a-f]{64}$"


class StepField(serializers.IntegerField):
    """How many updates a job has made."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": 2**31 - 1, **options})


class CodeOut(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Works once.")
    expires_at = serializers.DateTimeField()


class EnrolIn(serializers.Serializer[Any]):
    code = serializers.CharField(max_length=100)
    public_key = serializers.RegexField(HEX32, help_text="Ed25519, 64 hex digits.")
    name = serializers.CharField(max_length=80, help_text="Shown on the network page.")


class BackboneOut(serializers.ModelSerializer[Backbone]):
    class Meta:
        model = Backbone
        fields = ["host", "port", "peer_id", "public_key"]


class EnrolOut(serializers.Serializer[Any]):
    peer_id = serializers.CharField()
    token = serializers.CharField(help_text="A bearer token with the scope peer, shown this once.")
    backbones = BackboneOut(many=True)


class BackbonesPage(serializers.Serializer[Any]):
    results = BackboneOut(many=True)
    next = serializers.URLField(allow_null=True)


class BackboneIn(serializers.Serializer[Any]):
    host = serializers.RegexField(r"^[A-Za-z0-9._:\-]{1,255}$")
    port = serializers.IntegerField(min_value=1, max_value=65535)
    peer_id = serializers.RegexField(HEX32)
    public_key = serializers.RegexField(HEX32)


class PeerOut(serializers.ModelSerializer[Peer]):
    online = serializers.SerializerMethodField(help_text="Heard of within the last seconds.")

    class Meta:
        model = Peer
        fields = ["peer_id", "name", "state", "online", "samples_per_s", "samples_total", "last_seen_at"]

    def get_online(self, peer: Peer) -> bool:
        return peer.is_online(self.context["now"], self.context["stale_s"])


class EnrolmentOut(serializers.ModelSerializer[Peer]):
    class Meta:
        model = Peer
        fields = ["peer_id", "public_key", "name", "active"]


class EnrolmentsPage(serializers.Serializer[Any]):
    results = EnrolmentOut(many=True)
    next = serializers.URLField(allow_null=True, help_text="Always null.")
    cursor = serializers.IntegerField(help_text="Send it as `since` next time.")


class SinceQuery(serializers.Serializer[Any]):
    since = serializers.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, default=0, help_text="The last answer's `cursor`."
    )


class PresencePeer(serializers.Serializer[Any]):
    peer_id = serializers.RegexField(HEX32)
    state = serializers.CharField(max_length=12)
    job = serializers.UUIDField(required=False, allow_null=True, default=None)
    samples_per_s = FiniteFloat(required=False, default=0.0, min_value=0, max_value=1e12)


class PresenceIn(serializers.Serializer[Any]):
    peers = PresencePeer(many=True, max_length=2000)  # type: ignore[call-arg]


class NetworkJob(serializers.Serializer[Any]):
    """A job that is funded and waits, or runs."""

    id = serializers.UUIDField()
    release = serializers.UUIDField()
    recipe = serializers.CharField()
    recipe_version = serializers.CharField()
    parameters = serializers.DictField()
    strategy = serializers.CharField()
    sample_limit = serializers.IntegerField()
    step = serializers.IntegerField()
    samples = serializers.IntegerField()
    state = serializers.CharField()
    checkpoint = serializers.DictField(
        allow_null=True, help_text='{"step", "sha256"}; the file is at /jobs/{id}/checkpoint.'
    )


class NetworkJobsPage(serializers.Serializer[Any]):
    results = NetworkJob(many=True)
    next = serializers.URLField(allow_null=True)


class RoundsIn(serializers.Serializer[Any]):
    records = serializers.ListField(
        child=SmallJSON(kind=dict, max_bytes=262_144), min_length=1, max_length=500,
        help_text="trainer.wire.RoundRecord as JSON, signed by the members.",
    )  # fmt: skip


class RoundsOut(serializers.Serializer[Any]):
    recorded = serializers.IntegerField(help_text="How many were new.")
    repeated = serializers.IntegerField(help_text="How many were known already.")


class PresenceOut(serializers.Serializer[Any]):
    known = serializers.IntegerField(help_text="How many of the peers the market knows.")


class MetricsOut(serializers.Serializer[Any]):
    recorded = serializers.IntegerField(help_text="How many were new.")


class PointIn(serializers.Serializer[Any]):
    step = StepField()
    loss = FiniteFloat(allow_null=True, required=False, default=None)
    accuracy = FiniteFloat(allow_null=True, required=False, default=None, min_value=0, max_value=1)
    at = serializers.JSONField(
        required=False, default=None, help_text="Time of measuring, as the backbone wrote it."
    )


class MetricsIn(serializers.Serializer[Any]):
    points = PointIn(many=True, min_length=1, max_length=1000)  # type: ignore[call-arg]


class CheckpointIn(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="safetensors.")
    step = StepField()
    metrics = SmallJSON(kind=dict, binary=True, required=False, default=dict, help_text="JSON object.")


class CheckpointOut(serializers.Serializer[Any]):
    step = serializers.IntegerField()
    sha256 = serializers.CharField()


class FinishIn(serializers.Serializer[Any]):
    outcome = serializers.ChoiceField(choices=["completed", "stopped", "failed"])
    step = StepField()
    metrics = SmallJSON(kind=dict, required=False, default=dict)
    reason = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
