"""Volunteers' peers: a one-time code binds a key to the account that is paid; the backbone says who is there.

Who may run in a round is the backbone's to decide; what is paid is services.jobs'.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from marketplace.errors import Conflict, InvalidInput, NotAllowed
from marketplace.models import Backbone, EnrolmentCode, Job, Peer, Progress, User
from marketplace.models.writing import update_rows
from marketplace.rules.schema import clean_name
from marketplace.services.accounts import issue_token, revoke_token
from trainer.errors import BadSignature
from trainer.wire import peer_id_of

CODE_LIFE = timedelta(hours=1)
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # nothing that is read as something else
CODE_GROUPS, CODE_GROUP = 5, 4  # 20 letters of 32: 100 bits
CHANGES = "peer-changes"
PRESENCE = ("state", "job", "samples_per_s", "last_seen_at")


def issue_enrolment_code(user: User, *, now: datetime | None = None) -> tuple[str, datetime]:
    """A code that works once within an hour, and when it ends. Only its hash is kept."""
    letters = [secrets.choice(CODE_ALPHABET) for _ in range(CODE_GROUPS * CODE_GROUP)]
    code = "-".join(
        "".join(letters[start : start + CODE_GROUP]) for start in range(0, len(letters), CODE_GROUP)
    )
    expires_at = (now or timezone.now()) + CODE_LIFE
    EnrolmentCode.objects.create(user=user, digest=_digest(code), expires_at=expires_at)
    return code, expires_at


def _digest(code: str) -> str:
    return hashlib.sha256(code.strip().upper().replace("-", "").encode()).hexdigest()


@dataclass(frozen=True)
class EnrolmentRequest:
    """`public_key`: Ed25519, 32 bytes in hex."""

    code: str
    public_key: str
    name: str


@dataclass(frozen=True)
class Enrolled:
    """`secret` is the peer's bearer token, shown this once."""

    peer: Peer
    secret: str


def enrol(request: EnrolmentRequest, *, now: datetime | None = None) -> Enrolled:
    """Binds the key to the code's account. A key of the same account is enrolled anew; its old token ends.

    Raises: InvalidInput (code unknown, used or expired; key; name), Conflict (the key is another account's).
    """
    at, name = now or timezone.now(), clean_name(request.name)
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise InvalidInput(
            "The peer needs a name of at most 80 characters.", fields={"name": "1 to 80 characters"}
        )
    peer_id = check_key(request.public_key)
    with transaction.atomic():
        user = _use_code(request.code, at)
        peer = Peer.objects.select_for_update().filter(public_key=request.public_key).first()
        if peer is not None and peer.user_id != user.pk:
            raise Conflict("This key is enrolled for another account; make a new one.", code="key_taken")
        if peer is not None and peer.token is not None:
            revoke_token(user, peer.token.public_id)
        token, secret = issue_token(
            user, name=f"peer {name}"[:80], scopes=["peer"], allowed=frozenset({"peer"})
        )
        fields = {"user": user, "name": name, "token": token, "active": True, "change": _next_change()}
        peer, _ = Peer.objects.update_or_create(
            peer_id=peer_id, defaults=fields, create_defaults={**fields, "public_key": request.public_key}
        )
    return Enrolled(peer, secret)


def check_key(public_key: str) -> str:
    """The peer id of a public key. Raises: InvalidInput."""
    try:
        if public_key != public_key.lower():
            raise BadSignature("public key", "", "not in lower case")
        return peer_id_of(public_key)
    except BadSignature as error:
        message = "A public key is 64 lower-case hex digits (Ed25519)."
        raise InvalidInput(message, fields={"public_key": message}) from error


def _use_code(code: str, now: datetime) -> User:
    """Compare and set: of two who use a code at once, one gets it."""
    usable = EnrolmentCode.objects.filter(digest=_digest(code), used_at=None, expires_at__gt=now)
    if not usable.update(used_at=now):
        message = "This code is unknown, used or expired; get a new one on the network page."
        raise InvalidInput(message, fields={"code": message}, code="bad_code")
    return EnrolmentCode.objects.select_related("user").get(digest=_digest(code)).user


def _next_change() -> int:
    """Numbers handed out in the order of commits: the counter's row stays locked until then."""
    Progress.objects.get_or_create(name=CHANGES)
    Progress.objects.filter(name=CHANGES).update(cursor=F("cursor") + 1)
    return Progress.objects.get(name=CHANGES).cursor


def retire_peer(peer: Peer, *, by: User) -> Peer:
    """Ends a peer: no further rounds are paid to it. Twice changes nothing. Raises: NotAllowed."""
    if peer.user_id != by.pk and not by.is_superuser:
        raise NotAllowed("Only its owner retires a peer.")
    with transaction.atomic():
        locked = Peer.objects.select_for_update().get(pk=peer.pk)
        if locked.active:
            locked.active, locked.state, locked.change = False, "retired", _next_change()
            locked.save(update_fields=["active", "state", "change"])
            if locked.token is not None:
                revoke_token(locked.user, locked.token.public_id)
    return locked


@dataclass(frozen=True)
class Announcement:
    host: str
    port: int
    peer_id: str
    public_key: str


def announce_backbone(announcement: Announcement, *, now: datetime | None = None) -> Backbone:
    """Where the platform's own peer listens now. Raises: InvalidInput unless the id is the key's."""
    if check_key(announcement.public_key) != announcement.peer_id:
        raise InvalidInput(
            "The peer id is not that of the key.", fields={"peer_id": "the SHA-256 of the public key"}
        )
    if not 1 <= announcement.port <= 65535 or not 1 <= len(announcement.host) <= 255:
        raise InvalidInput(
            "Give a host and a port.", fields={"host": "a name or address", "port": "1 to 65535"}
        )
    backbone, _ = Backbone.objects.update_or_create(
        peer_id=announcement.peer_id,
        defaults={
            "host": announcement.host,
            "port": announcement.port,
            "public_key": announcement.public_key,
            "announced_at": now or timezone.now(),
        },
    )
    return backbone


def record_presence(reports: Sequence[Mapping[str, Any]], *, now: datetime | None = None) -> int:
    """What the backbone sees of each peer: `peer_id`, `state`, `job` (id or None), `samples_per_s`.

    Also a sign of life of the backbone that announced itself last. Returns: how many peers were known and active.
    """
    at = now or timezone.now()
    by_id = {str(report["peer_id"]): report for report in reports}
    peers = list(Peer.objects.filter(peer_id__in=by_id, active=True))
    job_ids = {str(report["job"]) for report in by_id.values() if report.get("job")}
    jobs = {str(job.public_id): job for job in Job.objects.filter(public_id__in=job_ids).only("public_id")}
    for peer in peers:
        report = by_id[peer.peer_id]
        peer.state = str(report.get("state", "online"))[:12]
        peer.job = jobs.get(str(report.get("job") or ""))
        peer.samples_per_s = float(report.get("samples_per_s") or 0.0)
        peer.last_seen_at = at
    with transaction.atomic():
        update_rows(peers, PRESENCE, where={"active": True})
        newest = Backbone.objects.order_by("-announced_at").values("pk")[:1]
        Backbone.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(announced_at=at)
    return len(peers)
