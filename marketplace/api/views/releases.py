"""Releases: built on request, described to everyone, their data only to those who may read it."""

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api import visibility
from marketplace.api.auth import caller_of
from marketplace.api.idempotency import answer_once
from marketplace.api.media import Stored, send
from marketplace.api.serializers.releases import ReleaseOut
from marketplace.api.views.base import View
from marketplace.api.views.campaigns import find_campaign
from marketplace.selectors.lookup import get_one
from marketplace.services import releases as services

READERS = {"GET": ("read", "backbone", "peer")}


class CampaignReleases(View):
    keyed = True
    public = True

    @extend_schema(
        summary="List a campaign's releases",
        description="Ready ones; to the campaign's owner also those being built and failed.",
        responses=ReleaseOut(many=True),
        tags=["releases"],
    )
    def get(self, request: Request, slug: str) -> Response:
        rows = visibility.releases(request).filter(campaign=find_campaign(request, slug))
        return self.page(rows, lambda page: ReleaseOut(page, many=True).data)

    @extend_schema(
        summary="Make a release of the accepted items",
        description="By the campaign's owner. The files are built in the background: poll until it is `ready`.",
        request=None,
        responses={202: ReleaseOut},
        tags=["releases"],
    )
    def post(self, request: Request, slug: str) -> Response:
        campaign = find_campaign(request, slug)

        def act(key: str) -> Response:
            return Response(
                ReleaseOut(services.build_release(campaign, by=caller_of(request))).data, status=202
            )

        return answer_once(request, act)


class OneRelease(View):
    public = True
    scopes = READERS

    @extend_schema(summary="Show a release", responses=ReleaseOut, tags=["releases"])
    def get(self, request: Request, public_id: str) -> Response:
        return Response(ReleaseOut(get_one(visibility.releases(request), public_id)).data)


class Manifest(View):
    scopes = READERS

    @extend_schema(
        summary="Download a release's manifest",
        description="hydra-release/1: classes, schema, files with the SHA-256 of each piece. Its own SHA-256 is the "
        "release's `manifest_sha256`. For the campaign's owner, the backbone, and peers while a job trains on it.",
        responses={(200, "application/json"): OpenApiTypes.OBJECT},
        tags=["releases"],
    )
    def get(self, request: Request, public_id: str) -> HttpResponseBase:
        release = get_one(visibility.release_data(request), public_id)
        key = services.find_file(release, "manifest.json")
        return send(request, Stored(key, "application/json", "manifest.json", release.manifest_sha256))


class ReleaseFile(View):
    scopes = READERS

    @extend_schema(
        summary="Download a file of a release",
        description="A shard named in the manifest, croissant.json or evidence.jsonl. Takes one byte `Range`; `If-Range` "
        "with the ETag (the file's SHA-256) resumes a download of the same bytes.",
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (206, "application/octet-stream"): OpenApiTypes.BINARY,
        },
        tags=["releases"],
    )
    def get(self, request: Request, public_id: str, name: str) -> HttpResponseBase:
        release = get_one(visibility.release_data(request), public_id)
        key = services.find_file(release, name)
        digests = {file["name"]: file["sha256"] for file in release.manifest.get("files", [])}
        return send(request, Stored(key, "application/octet-stream", name, digests.get(name, "")))
