"""Volunteers: a code, an enrolment, where the backbones are, who is there."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.auth import caller_of
from marketplace.api.pagination import OldestFirst
from marketplace.api.serializers import network as shapes
from marketplace.api.throttles import EnrolThrottle
from marketplace.api.views.base import View
from marketplace.models import Peer
from marketplace.selectors import network as selectors
from marketplace.services import network as services

SHOWN_FOR = timedelta(days=1)  # a peer not heard of for longer has left


class Codes(View):
    @extend_schema(
        summary="Get a one-time enrolment code",
        description="Binds a peer's key to the caller's account, which is paid for what the peer trains.",
        request=None,
        responses={201: shapes.CodeOut},
        tags=["network"],
    )
    def post(self, request: Request) -> Response:
        code, expires_at = services.issue_enrolment_code(caller_of(request))
        return Response(shapes.CodeOut({"code": code, "expires_at": expires_at}).data, status=201)


class Enrol(View):
    authentication_classes = []
    permission_classes = [AllowAny]
    throttle_classes = [EnrolThrottle]

    @extend_schema(
        summary="Enrol a peer",
        description="The code is the credential. The token of the answer is shown this once.",
        request=shapes.EnrolIn,
        responses={201: shapes.EnrolOut},
        tags=["network"],
    )
    def post(self, request: Request) -> Response:
        enrolled = services.enrol(services.EnrolmentRequest(**self.read(shapes.EnrolIn)))
        answer = {
            "peer_id": enrolled.peer.peer_id,
            "token": enrolled.secret,
            "backbones": selectors.backbones(timezone.now()),
        }
        return Response(shapes.EnrolOut(answer).data, status=201)


class Backbones(View):
    scopes = {"GET": ("read", "peer", "backbone"), "POST": ("backbone",)}

    @extend_schema(
        summary="List where the network is found",
        description="Those that announced themselves within the last seconds, the newest first.",
        responses=shapes.BackbonesPage,
        tags=["network"],
    )
    def get(self, request: Request) -> Response:
        rows = selectors.backbones(timezone.now())
        return Response({"results": shapes.BackboneOut(rows, many=True).data, "next": None})

    @extend_schema(
        summary="Announce a backbone",
        request=shapes.BackboneIn,
        responses={201: shapes.BackboneOut},
        tags=["backbone"],
    )
    def post(self, request: Request) -> Response:
        backbone = services.announce_backbone(services.Announcement(**self.read(shapes.BackboneIn)))
        return Response(shapes.BackboneOut(backbone).data, status=201)


class Peers(View):
    public = True
    scopes = {"GET": ("read", "peer", "backbone")}
    pagination_class = OldestFirst

    @extend_schema(
        summary="List peers",
        description="Active peers heard of within a day. Accounts and addresses are not shown.",
        responses=shapes.PeerOut(many=True),
        tags=["network"],
    )
    def get(self, request: Request) -> Response:
        now = timezone.now()
        rows = Peer.objects.filter(active=True, last_seen_at__gte=now - SHOWN_FOR)
        context = {"now": now, "stale_s": settings.HYDRA_BACKBONE_STALE_S}
        return self.page(rows, lambda page: shapes.PeerOut(page, many=True, context=context).data)
