"""What the backbone tells the market: who is there, which jobs it runs, what their rounds recorded."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.parsers import refuse_unstorable
from marketplace.api.serializers import network as shapes
from marketplace.api.serializers.jobs import JobOut, checkpoint_of
from marketplace.api.views.base import View
from marketplace.models import Job
from marketplace.selectors import jobs as job_rows
from marketplace.selectors import network as peers
from marketplace.selectors.lookup import get_one
from marketplace.services import jobs, network
from marketplace.services.metering import MAX_CHECKPOINT_BYTES

FORM_BYTES = 2**20  # what the fields beside the file may take


class BackboneView(View):
    """Only for tokens with the scope `backbone`, which the operator issues."""

    scopes = {"GET": ("backbone",), "POST": ("backbone",)}


class Presence(BackboneView):
    @extend_schema(
        summary="Report which peers are there",
        description="Peers that the market does not know are left out of the count.",
        request=shapes.PresenceIn,
        responses=shapes.PresenceOut,
        tags=["backbone"],
    )
    def post(self, request: Request) -> Response:
        return Response({"known": network.record_presence(self.read(shapes.PresenceIn)["peers"])})


class Enrolments(BackboneView):
    @extend_schema(
        summary="List enrolled peers since a cursor",
        parameters=[shapes.SinceQuery],
        responses=shapes.EnrolmentsPage,
        tags=["backbone"],
    )
    def get(self, request: Request) -> Response:
        rows, cursor = peers.enrolments_since(self.read_query(shapes.SinceQuery)["since"])
        return Response(
            {"results": shapes.EnrolmentOut(rows, many=True).data, "next": None, "cursor": cursor}
        )


class NetworkJobs(BackboneView):
    @extend_schema(
        summary="List jobs to run",
        description="Funded and waiting, or running; oldest first.",
        responses=shapes.NetworkJobsPage,
        tags=["backbone"],
    )
    def get(self, request: Request) -> Response:
        return Response({"results": [_show_runnable(job) for job in job_rows.runnable()], "next": None})


def _show_runnable(job: Job) -> dict[str, Any]:
    plain = ("recipe", "recipe_version", "parameters", "strategy", "sample_limit", "step", "samples", "state")
    return {
        "id": str(job.public_id),
        "release": str(job.release.public_id),
        **{name: getattr(job, name) for name in plain},
        "checkpoint": checkpoint_of(job),
    }


class StartJob(BackboneView):
    @extend_schema(
        summary="Say that a job runs",
        description="Starting it twice changes nothing.",
        request=None,
        responses=JobOut,
        tags=["backbone"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        jobs.start_job(job)
        job.refresh_from_db()
        return Response(JobOut(job).data)


class RecordRounds(BackboneView):
    max_body_bytes = 8 * 2**20

    @extend_schema(
        summary="Record committed rounds",
        description="Signatures, ranges and samples are checked; a step already recorded is counted as repeated, so "
        "the same records may be sent again.",
        request=shapes.RoundsIn,
        responses=shapes.RoundsOut,
        tags=["backbone"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        result = jobs.record_rounds(job, self.read(shapes.RoundsIn)["records"])
        return Response({"recorded": result.recorded, "repeated": result.repeated})


class RecordMetrics(BackboneView):
    @extend_schema(
        summary="Record points of a job's curve",
        description="A step measured again gets the newer values.",
        request=shapes.MetricsIn,
        responses=shapes.MetricsOut,
        tags=["backbone"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        return Response({"recorded": jobs.record_metrics(job, self.read(shapes.MetricsIn)["points"])})


class PutCheckpoint(BackboneView):
    parser_classes = [MultiPartParser]
    max_body_bytes = MAX_CHECKPOINT_BYTES + FORM_BYTES

    @extend_schema(
        summary="Store a checkpoint",
        request={"multipart/form-data": shapes.CheckpointIn},
        responses=shapes.CheckpointOut,
        tags=["backbone"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        form = self.read(shapes.CheckpointIn)
        refuse_unstorable(form["metrics"])
        jobs.attach_checkpoint(job, step=form["step"], content=form["file"].read(), metrics=form["metrics"])
        job.refresh_from_db()
        return Response({"step": job.checkpoint_step, "sha256": job.checkpoint_sha256})


class FinishJob(BackboneView):
    @extend_schema(
        summary="Say how a job ended",
        description="Settles it: what the recorded rounds used is charged and paid to volunteers, the rest returned.",
        request=shapes.FinishIn,
        responses=JobOut,
        tags=["backbone"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        return Response(JobOut(jobs.finish_job(job, **self.read(shapes.FinishIn))).data)
