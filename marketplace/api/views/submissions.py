"""Submissions: started under a consent, fed with files, completed, watched."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.errors import TooBig
from marketplace.api.idempotency import answer_once
from marketplace.api.pagination import OldestFirst
from marketplace.api.parsers import refuse_unstorable
from marketplace.api.serializers import items as item_shapes
from marketplace.api.serializers import submissions as shapes
from marketplace.api.views.base import View
from marketplace.api.views.campaigns import find_campaign
from marketplace.api.views.items import show_items
from marketplace.models import Item, Submission
from marketplace.selectors.lookup import get_one
from marketplace.services import submissions as services
from marketplace.services.submissions import ReceivedFile

FORM_BYTES = 2**20  # what the fields beside the file may take


class ItemsQuery(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=Item.State.choices, required=False)


class SubmissionQuery(serializers.Serializer[Any]):
    campaign = serializers.SlugField(max_length=80, required=False)
    state = serializers.ChoiceField(choices=Submission.State.choices, required=False)


def show_submissions(request: Request, rows: list[Submission]) -> list[dict[str, Any]]:
    context = {"request": request, "counts": visibility.counts_of(rows)}
    return shapes.SubmissionOut(rows, many=True, context=context).data  # type: ignore[return-value]


def show_submission(request: Request, submission: Submission) -> dict[str, Any]:
    return show_submissions(request, [submission])[0]


class StartSubmission(View):
    keyed = True

    @extend_schema(
        summary="Start a submission",
        description="Agrees to the campaign's consent text in the given version. Then send files, then complete it.",
        request=shapes.SubmissionIn,
        responses={201: shapes.SubmissionOut},
        tags=["submissions"],
    )
    def post(self, request: Request, slug: str) -> Response:
        campaign = find_campaign(request, slug)
        version = self.read(shapes.SubmissionIn)["consent_version"]

        def act(key: str) -> Response:
            submission = services.start_submission(
                campaign, caller_of(request), consent_version=version, idempotency_key=key
            )
            return Response(show_submission(request, submission), status=201)

        return answer_once(request, act)


class Submissions(View):
    @extend_schema(
        summary="List the caller's submissions",
        description="Newest first.",
        parameters=[SubmissionQuery],
        responses=shapes.SubmissionOut(many=True),
        tags=["submissions"],
    )
    def get(self, request: Request) -> Response:
        query = self.read_query(SubmissionQuery)
        rows = visibility.submissions(request).filter(contributor=caller_of(request))
        if "campaign" in query:
            rows = rows.filter(campaign__slug=query["campaign"])
        if "state" in query:
            rows = rows.filter(state=query["state"])
        return self.page(rows, lambda page: show_submissions(request, page))


class OneSubmission(View):
    @extend_schema(
        summary="Show a submission and its counts",
        description="received = accepted + duplicate + rejected + ignored + pending, always. "
        "`judged` means that validation is over; pending items then wait for a moderator or for budget.",
        responses=shapes.SubmissionDetail,
        tags=["submissions"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        submission = get_one(visibility.submissions(request), public_id)
        context = {"request": request, "counts": visibility.counts_of([submission])}
        return Response(shapes.SubmissionDetail(submission, context=context).data)


class SubmissionFiles(View):
    keyed = True
    parser_classes = [MultiPartParser]
    max_body_bytes = settings.HYDRA_MAX_FILE_BYTES + FORM_BYTES

    @extend_schema(
        summary="Send one file",
        description="multipart/form-data. Every entry found becomes an item, also what is ignored or refused, each "
        "with its reason; the answer lists the first 500, GET …/items all.",
        request={"multipart/form-data": shapes.FileIn},
        responses={201: shapes.FileAnswer},
        tags=["submissions"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        submission = get_one(visibility.submissions(request), public_id)
        form = self.read(shapes.FileIn)
        upload: UploadedFile = form["file"]
        if upload.size is not None and upload.size > settings.HYDRA_MAX_FILE_BYTES:
            raise TooBig(settings.HYDRA_MAX_FILE_BYTES)
        refuse_unstorable(form.get("attributes"))

        def act(key: str) -> Response:
            items = services.receive_file(submission, _received(upload, form), by=caller_of(request))
            shown = show_items(request, items[: item_shapes.MAX_BULK])
            return Response({"received": len(items), "items": shown}, status=201)

        return answer_once(request, act, whole=False)


def _received(upload: UploadedFile, form: dict[str, Any]) -> ReceivedFile:
    on_disk = Path(upload.temporary_file_path()) if isinstance(upload, TemporaryUploadedFile) else None
    return ReceivedFile(
        name=form.get("relative_path") or upload.name or "",
        path=on_disk,
        content=None if on_disk else upload.read(),
        label=form.get("label", ""),
        attributes=form.get("attributes"),
        encoding=form.get("encoding", ""),
        delimiter=form.get("delimiter", ""),
    )


class CompleteSubmission(View):
    keyed = True

    @extend_schema(
        summary="End a submission and have it validated",
        description="Validation runs in the background; poll the submission until it is `judged`.",
        request=None,
        responses=shapes.SubmissionOut,
        tags=["submissions"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        submission = get_one(visibility.submissions(request), public_id)

        def act(key: str) -> Response:
            services.complete_submission(submission, by=caller_of(request))
            return Response(show_submission(request, submission))

        return answer_once(request, act)


class SubmissionItems(View):
    pagination_class = OldestFirst

    @extend_schema(
        summary="List a submission's items",
        parameters=[ItemsQuery],
        responses=item_shapes.ItemOut(many=True),
        tags=["submissions"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        submission = get_one(visibility.submissions(request), public_id)
        rows = visibility.items(request).filter(submission=submission, **self.read_query(ItemsQuery))
        return self.page(rows, lambda page: show_items(request, page))
