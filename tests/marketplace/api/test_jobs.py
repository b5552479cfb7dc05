"""Releases, and jobs from credits to checkpoint, through the API, with the backbone's part played by its token."""

import hashlib
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ledger import service as ledger
from marketplace.models import Job, Release
from marketplace.services.jobs import advance_jobs

from .conftest import Caller, caller, make_campaign, make_user
from .training import BATCH, HYD, STEPS, Volunteer, give_credits, make_release, safetensors, signed_round

LIMIT = HYD


@pytest.fixture(autouse=True)
def _own_media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def release(ada, ben) -> Release:
    return make_release(make_campaign(ada, "texts", modality="text"), ben)


@pytest.fixture
def backbone(db) -> Caller:
    return caller(make_user("backbone"), "backbone")


def wish(release: Release, /, **changes) -> dict:
    parameters = {"steps": STEPS, "batch_size": BATCH}
    return {
        "release": str(release.public_id), "recipe": "text-hashed-bow", "parameters": parameters,
        "credit_limit_nano": LIMIT, **changes,
    }  # fmt: skip


@pytest.fixture
def job(ben, release) -> str:
    """Ben's job, its credits locked and confirmed."""
    world = give_credits(ben)
    answer = caller(ben).send("jobs", wish(release))
    assert answer.status_code == 201, answer.content
    world.settle()
    advance_jobs()
    return answer.json()["id"]


def test_a_release_is_asked_for_by_its_owner_and_described_to_all(ada, ben, release):
    assert caller(ben).send("campaigns/texts/releases").status_code == 403
    answer = caller(ada).send("campaigns/texts/releases", key="r")
    assert (answer.status_code, answer.json()["state"], answer.json()["version"]) == (202, "building", 2)
    assert caller(ada).send("campaigns/texts/releases", key="r").json() == answer.json()
    assert Release.objects.count() == 2
    facts = Caller().ask(f"releases/{release.public_id}").json()
    assert facts["train_items"] + facts["test_items"] == 40
    assert Caller().ask(f"releases/{answer.json()['id']}").status_code == 404
    assert [one["version"] for one in Caller().ask("campaigns/texts/releases").json()["results"]] == [1]
    assert [one["version"] for one in caller(ada).ask("campaigns/texts/releases").json()["results"]] == [2, 1]


def test_a_release_of_nothing_is_refused(ada, campaign):
    answer = caller(ada).send("campaigns/digits/releases")
    assert (answer.status_code, answer.json()["code"]) == (400, "empty_release")


def test_the_files_match_the_manifest_and_come_in_pieces(ada, release):
    client, path = caller(ada), f"releases/{release.public_id}"
    manifest = client.ask(f"{path}/manifest")
    content = manifest.body
    assert hashlib.sha256(content).hexdigest() == release.manifest_sha256
    file = json.loads(content)["files"][0]
    whole = client.ask(f"{path}/files/{file['name']}")
    data = whole.body
    assert hashlib.sha256(data).hexdigest() == file["sha256"] == whole["ETag"].strip('"')
    part = client.get(f"/api/v1/{path}/files/{file['name']}", headers={"Range": "bytes=5-14"})
    assert (part.status_code, part.body) == (206, data[5:15])
    assert client.ask(f"{path}/files/evidence.jsonl").status_code == 200


@pytest.mark.parametrize(
    "name", ["other.zip", "..", "..%2Fmanifest.json", "%2Fetc%2Fpasswd", "manifest.json%00"]
)
def test_no_other_file_is_reachable(ada, release, name):
    assert caller(ada).ask(f"releases/{release.public_id}/files/{name}").status_code == 404


def test_data_is_for_the_owner_the_backbone_and_peers_of_a_live_job(ada, ben, eve, backbone, release, job):
    path = f"releases/{release.public_id}/manifest"
    volunteer = Volunteer.of(eve, 1)
    peer = caller(eve, "peer")
    volunteer.peer.token = eve.api_tokens.get()
    volunteer.peer.save()
    for client in (caller(ada), backbone, peer):
        assert client.ask(path).status_code == 200
    for client in (caller(ben), caller(eve)):
        assert client.ask(path).status_code == 404
    assert Caller().ask(path).status_code == 401
    Job.objects.update(state="completed")
    assert peer.ask(path).status_code == 404


def test_recipes_are_described_with_their_price(db):
    recipes = {one["name"]: one for one in Caller().ask("recipes").json()["results"]}
    assert set(recipes) == {"image-cnn-small", "text-hashed-bow", "tabular-mlp"}
    assert recipes["tabular-mlp"]["price_per_sample"]["nano"] > 0
    assert {one["name"] for one in recipes["tabular-mlp"]["parameters"]} >= {"steps", "batch_size", "seed"}


def test_a_job_locks_its_credits(ben, release):
    give_credits(ben)
    answer = caller(ben).send("jobs", wish(release), key="j")
    assert answer.status_code == 201
    assert answer.json()["state"] == "funding"
    assert caller(ben).send("jobs", wish(release), key="j").json() == answer.json()
    assert caller(ben).ask("rewards/balance").json()["locked"]["nano"] == LIMIT
    assert [one["id"] for one in caller(ben).ask("jobs").json()["results"]] == [answer.json()["id"]]
    assert caller(ben).ask("jobs?state=running").json()["results"] == []


def test_without_credits_there_is_no_job(eve, release):
    answer = caller(eve).send("jobs", wish(release))
    assert (answer.status_code, answer.json()["code"]) == (409, "insufficient_funds")
    assert not Job.objects.exists()


WRONG_WISHES = (
    ({"recipe": "no-such"}, "recipe"),
    ({"recipe": "tabular-mlp"}, "recipe"),
    ({"parameters": {"steps": 0}}, "parameters.steps"),
    ({"parameters": {"colour": 1}}, "parameters.colour"),
    ({"parameters": [1]}, "parameters"),
    ({"strategy": "magic"}, "strategy"),
    ({"credit_limit_nano": 1}, "credit_limit_nano"),
    ({"credit_limit_nano": 2**64}, "credit_limit_nano"),
    ({"release": "x"}, "release"),
    ({"colour": "red"}, "colour"),
)


def test_a_bad_wish_names_the_place(ben, release):
    for changes, place in WRONG_WISHES:
        answer = caller(ben).send("jobs", wish(release, **changes))
        assert answer.status_code == 400, changes
        assert place in answer.json()["fields"], answer.json()
    assert not Job.objects.exists()


def test_an_unknown_release_is_404(ben, release):
    unknown = "00000000-0000-4000-8000-000000000000"
    assert caller(ben).send("jobs", wish(release, release=unknown)).status_code == 404


def train(
    backbone: Caller, job: str, release: Release, volunteers: list[Volunteer], steps: int = STEPS
) -> None:
    path = f"network/jobs/{job}"
    assert backbone.send(f"{path}/start").json()["state"] == "running"
    records = [signed_round(job, step, release.train_items, volunteers) for step in range(steps)]
    answer = backbone.send(f"{path}/rounds", {"records": records})
    assert answer.json() == {"recorded": steps, "repeated": 0}
    points = [
        {"step": 0, "loss": 0.7, "accuracy": 0.5},
        {"step": steps, "loss": 0.1, "accuracy": 1.0, "at": 1.5},
    ]
    assert backbone.send(f"{path}/metrics", {"points": points}).json() == {"recorded": 2}
    form = {"file": SimpleUploadedFile("c", safetensors()), "step": steps, "metrics": '{"accuracy": 1.0}'}
    answer = backbone.post(f"/api/v1/{path}/checkpoint", form)
    assert answer.json() == {"step": steps, "sha256": hashlib.sha256(safetensors()).hexdigest()}


def test_a_job_from_credits_to_checkpoint(ben, eve, dan, backbone, release, job):
    runnable = backbone.ask("network/jobs").json()["results"]
    assert [(one["id"], one["state"], one["checkpoint"]) for one in runnable] == [(job, "ready", None)]
    volunteers = [Volunteer.of(eve, 1), Volunteer.of(dan, 2)]
    train(backbone, job, release, volunteers)
    again = [signed_round(job, 0, release.train_items, volunteers)]
    repeated = backbone.send(f"network/jobs/{job}/rounds", {"records": again}).json()
    assert repeated == {"recorded": 0, "repeated": 1}
    done = {"outcome": "completed", "step": STEPS, "metrics": {"accuracy": 1.0}}
    assert backbone.send(f"network/jobs/{job}/finish", done).json()["state"] == "settling"
    assert backbone.send(f"network/jobs/{job}/finish", done).status_code == 200

    client = caller(ben)
    shown = client.ask(f"jobs/{job}").json()
    assert (shown["step"], shown["samples"], shown["metrics"]) == (STEPS, STEPS * BATCH, {"accuracy": 1.0})
    price = shown["price_per_sample"]["nano"] * STEPS * BATCH
    assert shown["charged"]["nano"] == price
    assert sum(one["amount"]["nano"] for one in shown["earnings"]) == price * 9 // 10
    rounds = client.ask(f"jobs/{job}/rounds?limit=2").json()
    assert [one["step"] for one in rounds["results"]] == [0, 1] and rounds["next"]
    curve = client.ask(f"jobs/{job}/curve").json()
    assert [one["accuracy"] for one in curve["points"]] == [0.5, 1.0]
    assert [(one["step"], one["peers"]) for one in curve["rounds"]] == [(step, 2) for step in range(STEPS)]
    batch = client.ask(f"jobs/{job}/batches/3").json()
    assert batch["step"] == 3 and len(batch["items"]) == BATCH
    checkpoint = client.ask(f"jobs/{job}/checkpoint")
    assert checkpoint.body == safetensors()
    assert checkpoint["Content-Disposition"] == 'attachment; filename="text-hashed-bow-step5.safetensors"'


def test_rounds_that_nobody_signed_are_refused(eve, backbone, release, job):
    volunteer = Volunteer.of(eve, 1)
    backbone.send(f"network/jobs/{job}/start")
    good = signed_round(job, 0, release.train_items, [volunteer])
    forged = {**good, "members": [{**good["members"][0], "signature": "0" * 128}]}
    late = signed_round(job, STEPS, release.train_items, [volunteer])
    for record in (forged, late, {**good, "seed": 7}, {}, {**good, "loss": "low"}):
        answer = backbone.send(f"network/jobs/{job}/rounds", {"records": [record]})
        assert answer.status_code == 400, answer.content
        assert "records.0" in answer.json()["fields"]
    assert Job.objects.get().samples == 0
    assert backbone.send(f"network/jobs/{job}/rounds", {"records": [good]}).json()["recorded"] == 1


def test_rounds_before_the_start_are_409(eve, backbone, release, job):
    records = [signed_round(job, 0, release.train_items, [Volunteer.of(eve, 1)])]
    assert backbone.send(f"network/jobs/{job}/rounds", {"records": records}).status_code == 409


def test_what_is_no_safetensors_file_is_refused(backbone, job):
    for content in (b"", b"junk", b"\x80\x04pickle", b"\xff" * 20):
        form = {"file": SimpleUploadedFile("c", content), "step": 1}
        answer = backbone.post(f"/api/v1/network/jobs/{job}/checkpoint", form)
        assert answer.status_code == 400
        assert "file" in answer.json()["fields"]


def test_before_its_first_checkpoint_there_is_none(ben, job):
    answer = caller(ben).ask(f"jobs/{job}/checkpoint")
    assert answer.json() == {"code": "not_found", "message": "The job has no checkpoint yet."}
    assert caller(ben).ask(f"jobs/{job}/batches/0").status_code == 404
    assert caller(ben).ask(f"jobs/{job}/batches/{10**30}").status_code == 404


def test_a_cancelled_job_gives_back_what_it_did_not_use(ben, backbone, job):
    client = caller(ben)
    assert client.send(f"jobs/{job}/cancel").json()["state"] == "settling"
    assert client.send(f"jobs/{job}/cancel").status_code == 200
    assert ledger.escrow(f"job:{job}").used == 0
    assert backbone.ask("network/jobs").json()["results"] == []
    assert backbone.send(f"network/jobs/{job}/start").status_code == 409


def test_a_job_is_its_owner_s(ada, eve, dan, backbone, release, job):
    train(backbone, job, release, [Volunteer.of(eve, 1)])
    for path in ("", "/rounds", "/curve", "/batches/0", "/checkpoint"):
        for other in (ada, eve, dan):
            assert caller(other).ask(f"jobs/{job}{path}").status_code == 404
        assert Caller().ask(f"jobs/{job}{path}").status_code == 401
    assert caller(dan).send(f"jobs/{job}/cancel").status_code == 404
    assert (
        backbone.ask(f"jobs/{job}").status_code == backbone.ask(f"jobs/{job}/checkpoint").status_code == 200
    )
    assert backbone.send(f"jobs/{job}/cancel").status_code == 403


def test_only_the_backbone_reports(ben, job):
    for client in (caller(ben), caller(ben, "peer"), caller(ben, "read", "write", "moderate")):
        for step in ("start", "rounds", "metrics", "checkpoint", "finish"):
            assert (
                client.send(f"network/jobs/{job}/{step}", {"outcome": "completed", "step": 1}).status_code
                == 403
            )
    assert Job.objects.get().state == "ready"
