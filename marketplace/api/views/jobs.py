"""Recipes and training jobs, as their owner sees them."""

from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.idempotency import answer_once
from marketplace.api.media import Stored, send
from marketplace.api.pagination import ByStep
from marketplace.api.serializers import jobs as shapes
from marketplace.api.views.base import View
from marketplace.errors import NotFound
from marketplace.models import Job
from marketplace.selectors.lookup import get_one
from marketplace.services import jobs as services
from trainer.recipes import RECIPES

MOST_POINTS = 1000
OWNER_OR_BACKBONE = {"GET": ("read", "backbone")}


class JobQuery(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=Job.State.choices, required=False)


class Recipes(View):
    public = True

    @extend_schema(
        summary="List the recipes",
        description="What a job can train, with each parameter's default, range and meaning, and the price per sample.",
        responses=shapes.RecipesPage,
        tags=["jobs"],
    )
    def get(self, request: Request) -> Response:
        return Response({"results": shapes.RecipeOut(list(RECIPES.values()), many=True).data, "next": None})


class Jobs(View):
    keyed = True

    @extend_schema(
        summary="List the caller's jobs",
        description="Newest first.",
        parameters=[JobQuery],
        responses=shapes.JobOut(many=True),
        tags=["jobs"],
    )
    def get(self, request: Request) -> Response:
        rows = visibility.jobs(request).filter(owner=caller_of(request), **self.read_query(JobQuery))
        return self.page(rows, lambda page: shapes.JobOut(page, many=True).data)

    @extend_schema(
        summary="Create a training job",
        description="Locks `credit_limit_nano` of the caller's credits (409 `insufficient_funds` where there are fewer); "
        "training starts when the lock is confirmed and volunteers are there.",
        request=shapes.JobIn,
        responses={201: shapes.JobOut},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        wish = self.read(shapes.JobIn)
        release = get_one(visibility.releases(request), wish.pop("release"))
        draft = services.JobDraft(release=release, credit_limit=wish.pop("credit_limit_nano"), **wish)

        def act(key: str) -> Response:
            return Response(
                shapes.JobOut(services.create_job(caller_of(request), draft, key=key)).data, status=201
            )

        return answer_once(request, act)


class OneJob(View):
    scopes = OWNER_OR_BACKBONE

    @extend_schema(summary="Show a job", responses=shapes.JobDetail, tags=["jobs"])
    def get(self, request: Request, public_id: str) -> Response:
        return Response(shapes.JobDetail(get_one(visibility.jobs(request), public_id)).data)


class CancelJob(View):
    keyed = True

    @extend_schema(
        summary="Cancel a job",
        description="What committed rounds used is charged; the rest of the locked credits comes back.",
        request=None,
        responses=shapes.JobOut,
        tags=["jobs"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)

        def act(key: str) -> Response:
            return Response(shapes.JobOut(services.cancel_job(job, by=caller_of(request))).data)

        return answer_once(request, act)


class Rounds(View):
    pagination_class = ByStep

    @extend_schema(
        summary="List a job's committed rounds",
        description="By step, each with the record that its members signed.",
        responses=shapes.RoundOut(many=True),
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        return self.page(job.rounds.all(), lambda page: shapes.RoundOut(page, many=True).data)


class Curve(View):
    @extend_schema(summary="Show a job's curves", responses=shapes.CurveOut, tags=["jobs"])
    def get(self, request: Request, public_id: str) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        points = shapes.PointOut(job.points.all(), many=True).data
        return Response({"points": points, "rounds": _training_points(job)})


def _training_points(job: Job) -> list[dict[str, Any]]:
    """Every n-th committed round and the last, so that a long job's curve stays small."""
    steps = list(job.rounds.values_list("step", flat=True))
    stride = -(-len(steps) // MOST_POINTS) or 1
    kept = {*steps[::stride], *steps[-1:]}
    rows = job.rounds.filter(step__in=kept) if stride > 1 else job.rounds.all()
    return [
        {
            "step": row.step,
            "loss": row.loss,
            "samples": row.samples,
            "peers": len(row.record.get("members", [])),
        }
        for row in rows
    ]


class Batch(View):
    @extend_schema(
        summary="List the items in one step's batch",
        description="Recomputed from the round's recorded seed and ranges: which data this step saw.",
        responses=shapes.BatchOut,
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str, step: int) -> Response:
        job = get_one(visibility.jobs(request), public_id)
        return Response({"step": step, "items": services.trace_batch(job, step)})


class Checkpoint(View):
    scopes = OWNER_OR_BACKBONE

    @extend_schema(
        summary="Download the newest checkpoint",
        description="A safetensors file; its SHA-256 is the ETag and in the job. Takes one byte `Range`.",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str) -> HttpResponseBase:
        job = get_one(visibility.jobs(request), public_id)
        if not job.checkpoint_key:
            raise NotFound("The job has no checkpoint yet.")
        name = f"{job.recipe}-step{job.checkpoint_step}.safetensors"
        stored = Stored(job.checkpoint_key, "application/octet-stream", name, job.checkpoint_sha256)
        return send(request, stored)
