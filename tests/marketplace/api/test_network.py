"""Volunteers' enrolment and what the backbone says about who is there."""

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from marketplace.models import Backbone, Peer

from .conftest import Caller, caller, make_user


def public_key(seed: int) -> str:
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32).public_key().public_bytes_raw().hex()


def id_of(key: str) -> str:
    return hashlib.sha256(bytes.fromhex(key)).hexdigest()


@pytest.fixture
def backbone(db) -> Caller:
    return caller(make_user("backbone"), "backbone")


def enrol(ben, seed: int = 1, **changes):
    code = caller(ben).send("network/codes").json()["code"]
    return Caller().send(
        "network/enrol", {"code": code, "public_key": public_key(seed), "name": "desk", **changes}
    )


def test_a_code_enrols_a_peer_once(ben):
    code = caller(ben).send("network/codes").json()
    assert code["expires_at"]
    body = {"code": code["code"], "public_key": public_key(1), "name": "desk"}
    answer = Caller().send("network/enrol", body)
    assert answer.status_code == 201
    assert answer.json()["peer_id"] == id_of(public_key(1))
    assert answer.json()["backbones"] == []
    again = Caller().send("network/enrol", {**body, "public_key": public_key(2)})
    assert (again.status_code, again.json()["code"]) == (400, "bad_code")
    assert Peer.objects.get().user == ben


def test_a_peer_s_token_finds_the_network_and_opens_nothing_else(ben, backbone):
    key = public_key(9)
    announced = {"host": "127.0.0.1", "port": 9000, "peer_id": id_of(key), "public_key": key}
    assert backbone.send("network/backbones", announced).status_code == 201
    answer = enrol(ben).json()
    assert answer["backbones"] == [announced]
    peer = Caller(answer["token"])
    assert peer.ask("network/backbones").json()["results"] == [announced]
    for path in ("submissions", "rewards/balance", "jobs", "network/jobs", "network/enrolments"):
        assert peer.ask(path).status_code == 403
    assert peer.send("network/codes").status_code == 403


@pytest.mark.parametrize(
    "changes,place",
    [
        ({"code": "AAAA-BBBB"}, None),
        ({"code": ""}, "code"),
        ({"public_key": "00"}, "public_key"),
        ({"public_key": "Z" * 64}, "public_key"),
        ({"public_key": 5}, "public_key"),
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
    ],
)
def test_a_bad_enrolment_is_400(ben, changes, place):
    answer = enrol(ben, **changes)
    assert answer.status_code == 400
    assert place is None or place in answer.json()["fields"]
    assert not Peer.objects.exists()


def test_a_key_of_another_account_is_refused(ben, eve):
    enrol(ben)
    assert enrol(eve).status_code == 409
    assert Peer.objects.get().user == ben


def test_codes_need_an_account(ben):
    assert Caller().send("network/codes").status_code == 401
    assert caller(ben, "read").send("network/codes").status_code == 403


def test_only_a_backbone_announces_itself(ben, backbone):
    key = public_key(9)
    body = {"host": "127.0.0.1", "port": 9000, "peer_id": id_of(key), "public_key": key}
    assert caller(ben).send("network/backbones", body).status_code == 403
    for change in ({"port": 0}, {"port": 65536}, {"host": "a b"}, {"peer_id": "0" * 64}, {"public_key": "x"}):
        assert backbone.send("network/backbones", {**body, **change}).status_code == 400
    assert not Backbone.objects.exists()
    assert Caller().ask("network/backbones").status_code == 401


def test_presence_shows_on_the_public_list(ben, backbone):
    peer = enrol(ben).json()["peer_id"]
    assert Caller().ask("network/peers").json()["results"] == []
    reports = [
        {"peer_id": peer, "state": "training", "job": None, "samples_per_s": 12.5, "name": "ignored"},
        {"peer_id": "f" * 64, "state": "idle"},
    ]
    assert backbone.send("network/presence", {"peers": reports}).json() == {"known": 1}
    [shown] = Caller().ask("network/peers").json()["results"]
    assert (shown["name"], shown["state"], shown["online"], shown["samples_per_s"]) == (
        "desk",
        "training",
        True,
        12.5,
    )
    assert "ben" not in str(shown)


@pytest.mark.parametrize(
    "report",
    [{}, {"peer_id": "x", "state": "idle"}, {"peer_id": "f" * 64, "state": "idle", "samples_per_s": "nan"},
     {"peer_id": "f" * 64, "state": "idle", "job": "no uuid"}, {"peer_id": "f" * 64, "state": "x" * 13}],
)  # fmt: skip
def test_a_bad_report_is_400(backbone, report):
    assert backbone.send("network/presence", {"peers": [report]}).status_code == 400


def test_the_backbone_pulls_enrolments_since_a_cursor(ben, backbone):
    enrol(ben, 1)
    first = backbone.ask("network/enrolments").json()
    assert [one["public_key"] for one in first["results"]] == [public_key(1)]
    enrol(ben, 2)
    news = backbone.ask(f"network/enrolments?since={first['cursor']}").json()
    assert [(one["public_key"], one["active"]) for one in news["results"]] == [(public_key(2), True)]
    rest = backbone.ask(f"network/enrolments?since={news['cursor']}").json()
    assert rest["results"] == [] and rest["cursor"] == news["cursor"]
    assert backbone.ask("network/enrolments?since=yesterday").status_code == 400
    assert caller(ben).ask("network/enrolments").status_code == 403
