"""Enrolment binds a key to one account; the backbone's reports show who is there."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from marketplace.errors import Conflict, InvalidInput, NotAllowed
from marketplace.models import EnrolmentCode, Peer
from marketplace.selectors import network as selectors
from marketplace.services.accounts import authenticate_token
from marketplace.services.network import (
    Announcement,
    EnrolmentRequest,
    announce_backbone,
    enrol,
    issue_enrolment_code,
    record_presence,
    retire_peer,
)
from trainer.wire import peer_id_of

NOW = timezone.now()


def key(seed: int) -> str:
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32).public_key().public_bytes_raw().hex()


def join(user, seed: int = 1, name: str = "laptop", **options):
    return enrol(EnrolmentRequest(issue_enrolment_code(user)[0], key(seed), name), **options)


def test_a_code_binds_a_key_once(vera, eve):
    code, expires_at = issue_enrolment_code(vera)
    assert timedelta(minutes=59) < expires_at - timezone.now() <= timedelta(hours=1)
    assert not EnrolmentCode.objects.filter(digest__contains=code).exists()
    enrolled = enrol(
        EnrolmentRequest(code.lower().replace("-", " ").strip().replace(" ", "-"), key(1), "laptop")
    )
    assert (enrolled.peer.user, enrolled.peer.peer_id) == (vera, peer_id_of(key(1)))
    token = authenticate_token(enrolled.secret, timezone.now())
    assert token is not None and token.scopes == ["peer"]
    with pytest.raises(InvalidInput) as refused:
        enrol(EnrolmentRequest(code, key(2), "another"))
    assert "code" in refused.value.fields and Peer.objects.count() == 1


@pytest.mark.parametrize(
    "change, place",
    [
        ({"code": "AAAA-BBBB"}, "code"),
        ({"public_key": "00"}, "public_key"),
        ({"public_key": "zz" * 32}, "public_key"),
        ({"public_key": "AB" * 32}, "public_key"),
        ({"name": " "}, "name"),
        ({"name": "x" * 81}, "name"),
    ],
)
def test_a_wrong_request_enrols_nothing_and_leaves_the_code(vera, change, place):
    code, _ = issue_enrolment_code(vera)
    with pytest.raises(InvalidInput) as refused:
        enrol(EnrolmentRequest(**{"code": code, "public_key": key(1), "name": "laptop", **change}))
    assert place in refused.value.fields
    enrol(EnrolmentRequest(code, key(1), "laptop"))


def test_an_expired_code_is_refused(vera):
    code, expires_at = issue_enrolment_code(vera)
    with pytest.raises(InvalidInput):
        enrol(EnrolmentRequest(code, key(1), "laptop"), now=expires_at)


def test_enrolling_a_key_anew_ends_its_old_token(vera):
    first, second = join(vera), join(vera, name="renamed")
    assert first.peer.pk == second.peer.pk and second.peer.name == "renamed"
    assert authenticate_token(first.secret, timezone.now()) is None
    assert authenticate_token(second.secret, timezone.now()) is not None


def test_a_key_stays_with_its_account_and_a_name_is_nobodys(vera, eve):
    join(vera)
    code, _ = issue_enrolment_code(eve)
    with pytest.raises(Conflict):
        enrol(EnrolmentRequest(code, key(1), "laptop"))
    newcomer = enrol(EnrolmentRequest(code, key(2), "laptop")).peer  # the failed try did not use the code up
    assert newcomer.user == eve and newcomer.samples_total == 0


def test_the_backbone_reads_enrolments_and_retirements_in_order(vera, eve):
    one, two = join(vera, 1).peer, join(eve, 2).peer
    rows, cursor = selectors.enrolments_since(0)
    assert rows == [one, two]
    assert selectors.enrolments_since(cursor) == ([], cursor)
    with pytest.raises(NotAllowed):
        retire_peer(one, by=eve)
    for _ in range(2):
        retire_peer(one, by=vera)
    (changed,), later = selectors.enrolments_since(cursor)
    assert (changed.pk, changed.active, later) == (one.pk, False, cursor + 1)


def test_a_retired_peers_token_ends(vera):
    enrolled = join(vera)
    retire_peer(enrolled.peer, by=vera)
    assert authenticate_token(enrolled.secret, timezone.now()) is None


def test_presence_is_of_known_active_peers(vera, eve):
    one, gone = join(vera, 1).peer, join(eve, 2).peer
    retire_peer(gone, by=eve)
    reports = [
        {"peer_id": one.peer_id, "state": "training", "job": None, "samples_per_s": 12.5},
        {"peer_id": gone.peer_id, "state": "training", "samples_per_s": 99},
        {"peer_id": "00" * 32, "state": "training"},
    ]
    assert record_presence(reports, now=NOW) == 1
    assert list(selectors.online_peers(NOW)) == [one]
    assert not selectors.online_peers(NOW + timedelta(seconds=16))
    (view,) = selectors.peer_views(vera, NOW)
    assert (view.is_online, view.is_mine, view.owner_name, view.peer.samples_per_s) == (
        True,
        True,
        "vera",
        12.5,
    )


def test_a_backbone_is_found_while_it_lives(db):
    backbone = announce_backbone(Announcement("127.0.0.1", 7700, peer_id_of(key(9)), key(9)), now=NOW)
    announce_backbone(Announcement("127.0.0.1", 7701, peer_id_of(key(9)), key(9)), now=NOW)
    assert [b.port for b in selectors.backbones(NOW)] == [7701]
    later = NOW + timedelta(seconds=30)
    assert not selectors.backbones(later)
    record_presence([], now=later)
    assert list(selectors.backbones(later)) == [backbone]


@pytest.mark.parametrize(
    "change", [{"peer_id": "00" * 32}, {"port": 0}, {"port": 70000}, {"host": ""}, {"public_key": "x"}]
)
def test_an_announcement_that_does_not_fit_is_refused(db, change):
    good = {"host": "h", "port": 1, "peer_id": peer_id_of(key(9)), "public_key": key(9)}
    with pytest.raises(InvalidInput):
        announce_backbone(Announcement(**{**good, **change}))
