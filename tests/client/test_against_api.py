"""The command against the real API in this process: a sponsor, a contributor and a moderator go round the loop.

The API's tasks run while the command waits: the SDK's `sleep` is where the background works.
"""

import io
import json
from argparse import Namespace

import httpx
import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from client import Hydra, Patience
from client.cli.main import build_parser, run
from client.cli.output import Cli, Output
from client.credentials import Access, remember
from marketplace.models import Release, Submission
from marketplace.services.releases import write_release
from marketplace.services.validation import validate_submission
from tests.marketplace.world import make_user, picture
from trainer.recipes import load_recipe

URL = "http://testserver"
PASSWORD = "correct-horse-9"  # make_user's


def work_in_background(seconds=0.0):
    for submission in Submission.objects.filter(state="queued"):
        validate_submission(submission.pk)
    for release in Release.objects.filter(state="building"):
        write_release(release.pk)


class Person:
    """Somebody at a terminal, with a configuration folder of their own."""

    def __init__(self, name, folder):
        self.email, self.credentials = f"{name}@example.org", folder / name / "credentials.json"

    def types(self, *arguments, stdin=""):
        """→ (exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        options: Namespace = build_parser().parse_args(arguments)
        output = Output(as_json=options.json, stdout=out, stderr=err)
        return (
            run(Cli(options, output, {"HYDRA_URL": URL}, self.credentials, connect)),
            out.getvalue(),
            err.getvalue(),
        )

    def gets(self, *arguments):
        code, out, err = self.types(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


def connect(access: Access) -> Hydra:
    transport = httpx.WSGITransport(get_wsgi_application())
    return Hydra(
        access.url, access.token, patience=Patience(tries=1, sleep=work_in_background), http=transport
    )


@pytest.fixture(autouse=True)
def _portal(db, settings, tmp_path):
    """The end of a request would close the test's own connection, so it is kept from that (as Django's test client does)."""
    settings.MEDIA_ROOT = tmp_path / "media"
    cache.clear()
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def person(tmp_path):
    def logged_in(name, *permissions):
        who = Person(name, tmp_path)
        make_user(name, *permissions)
        scopes = ["read", "write"] + (["moderate"] if "moderate" in permissions else [])
        with connect(Access(URL, "")) as hydra:
            token = hydra.account.issue_token(who.email, PASSWORD, name="test", scopes=scopes)["token"]
        remember(who.credentials, Access(URL, token))
        return who

    return logged_in


@pytest.fixture
def ada(person):
    return person("ada", "sponsor")


@pytest.fixture
def ben(person):
    return person("ben")


@pytest.fixture
def shapes(tmp_path):
    """Ten pictures in two folders, one of them twice, and one file that is no picture."""
    folder = tmp_path / "shapes"
    for kind in ("cross", "ring"):
        (folder / kind).mkdir(parents=True)
        for seed in range(5):
            (folder / kind / f"{seed}.png").write_bytes(picture(kind, seed))
    (folder / "ring" / "again.png").write_bytes(picture("ring", 0))
    (folder / "cross" / "broken.png").write_bytes(b"no picture")
    return folder


@pytest.fixture
def campaign(ada):
    made = ada.gets(
        "campaigns", "create", "--title", "Shapes", "--modality", "image", "--classes", "cross,ring", "--reward", "1.5",
        "--consent-text", "You drew these yourself.", "--image-channels", "1", "--image-min-side", "16",
    )  # fmt: skip
    ada.gets("campaigns", "open", made["slug"])
    ada.gets("campaigns", "fund", made["slug"], "100")
    return made["slug"]


def test_a_campaign_is_made_opened_and_funded(ada, ben, campaign):
    shown = ben.gets("campaigns", "show", campaign)
    assert shown["state"] == "open"
    assert shown["reward_base"] == {"nano": 1_500_000_000, "hyd": "1.5"}
    assert shown["budget"]["funded"]["hyd"] == "100"
    code, out, _ = ben.types("campaigns", "list")
    assert code == 0 and out.splitlines()[1].split() == [campaign, "Shapes", "image", "open", "1.5", "HYD"]


def test_an_upload_ends_with_the_account_of_every_item(ben, campaign, shapes):
    code, out, err = ben.types("upload", campaign, str(shapes), "--agree", "--at-once", "1")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("12 of 12 files arrived.")
    counts = {line.strip("=+ ").split()[0]: int(line.split()[-1]) for line in lines[1:7]}
    assert counts["received"] == 12 == sum(count for name, count in counts.items() if name != "received")
    assert counts["duplicate"] == 1 and counts["rejected"] == 1
    assert any("rejected" in line and "picture" in line for line in lines[7:]), out
    assert "12 of 12 files" in err


def test_the_same_upload_resumed_counts_nothing_twice(ben, campaign, shapes):
    first = ben.gets("upload", campaign, str(shapes), "--agree", "--at-once", "1", "--no-wait")
    again = ben.gets("upload", campaign, str(shapes), "--resume", first["submission"], "--at-once", "1")
    assert again["counts"]["received"] == first["counts"]["received"] == 12


def test_without_agreement_nothing_is_sent(ben, campaign, shapes, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, _, err = ben.types("upload", campaign, str(shapes))
    assert code == 2
    assert "You drew these yourself." in err and "--agree" in err
    assert not Submission.objects.exists()


def test_accepted_items_become_a_release_that_can_be_downloaded(ada, ben, person, campaign, shapes, tmp_path):
    sent = ben.gets("upload", campaign, str(shapes), "--agree", "--at-once", "1")
    cleo = person("cleo", "moderate")
    waiting = [item["id"] for item in cleo.gets("review", "queue")]
    if waiting:
        cleo.gets("review", "accept", *waiting)
    accepted = ben.gets("items", "list", sent["submission"], "--state", "accepted")
    assert len(accepted) >= 8
    item = ben.gets("items", "show", accepted[0]["id"])
    assert item["evidence"] and item["verdicts"]
    assert ben.types("items", "show", accepted[0]["id"])[0] == 0

    release = ada.gets("release", "build", campaign)
    assert release["state"] == "ready"
    files = ada.gets("releases", "download", release["id"], str(tmp_path / "got"))["files"]
    assert {"manifest.json", "croissant.json", "evidence.jsonl", "train-00000.zip"} <= {
        f.rsplit("/", 1)[-1] for f in files
    }
    assert ben.types("releases", "download", release["id"], str(tmp_path / "his"))[0] == 4
    manifest = json.loads((tmp_path / "got" / "manifest.json").read_bytes())
    train = load_recipe("image-cnn-small").decode([tmp_path / "got" / "train-00000.zip"], manifest)
    assert len(train) == release["train_items"] and train.inputs.shape[1:] == (1, 28, 28)

    pending = ben.gets("balance")["pending"]["nano"]
    assert pending > 0
    assert sum(line["amount"]["nano"] for line in ben.gets("statement")) == pending
    code, out, _ = ben.types("statement", "--limit", "2")
    assert code == 0 and len(out.splitlines()) == 3


def test_a_job_costs_what_its_steps_cost_and_needs_credits(ada, ben, person, campaign, shapes):
    ben.gets("upload", campaign, str(shapes), "--agree", "--at-once", "1")
    cleo = person("cleo", "moderate")
    if waiting := [item["id"] for item in cleo.gets("review", "queue")]:
        cleo.gets("review", "accept", *waiting)
    release = ada.gets("release", "build", campaign)["id"]
    code, _, err = ben.types(
        "jobs", "create", release, "image-cnn-small", "--set", "steps=10", "--set", "batch_size=4"
    )
    assert code == 1
    assert "10 steps of 4 samples cost at most 0.04 HYD" in err
    assert "credits" in err.splitlines()[-1].lower()
    code, _, err = ben.types("jobs", "create", release, "image-cnn-small", "--set", "step=10", "--limit", "1")
    assert code == 1 and "no parameter 'step'" in err
    assert ben.types("jobs", "create", release, "resnet")[0] == 2


def test_unlocking_more_than_there_is_is_refused_in_words(ben):
    code, out, err = ben.types("unlock", "5")
    assert (code, out) == (1, "")
    assert err.startswith("hydra: ") and "Traceback" not in err
    code, _, err = ben.types("unlock", "5", "--json")
    assert code == 1 and json.loads(err)["error"]["status"] == 409


def test_logging_in_stores_a_token_that_works_and_logging_out_ends_it(ben, monkeypatch):
    ben.credentials.unlink()
    code, _, err = ben.types("me")
    assert code == 3 and "hydra login" in err
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    code, out, err = ben.types("login", "--email", ben.email, "--password-stdin")
    assert code == 0, err
    assert "hyd_" not in out + err
    assert ben.gets("me")["email"] == ben.email
    kept = ben.credentials.read_text()
    assert ben.types("logout")[0] == 0
    ben.credentials.write_text(kept)
    assert ben.types("me")[0] == 3


def test_a_wrong_password_is_said_in_words(ben, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("wrong\n"))
    code, _, err = ben.types("login", "--email", ben.email, "--password-stdin")
    assert code == 3 and "password is wrong" in err


def test_what_is_public_can_be_read_without_logging_in(ben, campaign):
    ben.credentials.unlink()
    assert ben.gets("campaigns", "list")[0]["slug"] == campaign
    assert {one["name"] for one in ben.gets("recipes")} >= {"image-cnn-small"}
    assert ben.types("recipes")[0] == ben.types("totals")[0] == ben.types("network", "peers")[0] == 0


def test_a_volunteer_gets_a_code(ben):
    code, out, err = ben.types("network", "code")
    assert code == 0 and out.strip() and out.strip() in err


def test_what_is_not_there_is_exit_code_4(ben):
    code, _, err = ben.types("campaigns", "show", "absent")
    assert code == 4 and err.startswith("hydra: There is no such thing")


def test_a_refused_campaign_names_the_fields(ada):
    code, _, err = ada.types("campaigns", "create", "--title", "T", "--modality", "image")
    assert code == 1 and "classes" in err
