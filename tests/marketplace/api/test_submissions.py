"""Submissions from consent to completion, the items they make, and who may see them."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from marketplace.models import Evidence, Item, Submission

from .conftest import Caller, caller


def png(shade: int = 0) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((130, 130), 40 + shade).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(autouse=True)
def _own_media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def started(ben, campaign) -> str:
    return caller(ben).send("campaigns/digits/submissions", {"consent_version": 1}).json()["id"]


def put(client: Caller, submission: str, name: str, content: bytes, *, key: str = "", **fields):
    headers = {"Idempotency-Key": key} if key else None
    body = {"file": SimpleUploadedFile(name, content), **fields}
    return client.post(f"/api/v1/submissions/{submission}/files", body, headers=headers)


def test_a_submission_starts_with_consent(ben, campaign):
    answer = caller(ben).send("campaigns/digits/submissions", {"consent_version": 1})
    assert answer.status_code == 201
    assert answer.json()["state"] == "receiving"
    assert set(answer.json()["counts"].values()) == {0}


@pytest.mark.parametrize(
    "body", [{}, {"consent_version": 2}, {"consent_version": 0}, {"consent_version": "x"}]
)
def test_another_consent_is_refused(ben, campaign, body):
    answer = caller(ben).send("campaigns/digits/submissions", body)
    assert answer.status_code == 400
    assert "consent_version" in answer.json()["fields"]
    assert not Submission.objects.exists()


def test_a_closed_campaign_takes_none(ben, campaign):
    campaign.state = "closed"
    campaign.save()
    answer = caller(ben).send("campaigns/digits/submissions", {"consent_version": 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "campaign_closed")


def test_files_become_items_and_the_counts_add_up(ben, started):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("0/a.png", png(1))
        file.writestr("1/b.png", png(2))
        file.writestr("__MACOSX/0/._a.png", b"\0\5\x16\7")
    client = caller(ben)
    answer = put(client, started, "set.zip", archive.getvalue())
    assert answer.status_code == 201
    assert answer.json()["received"] == 3
    single = put(client, started, "c.png", png(3), label="1")
    assert [one["label"] for one in single.json()["items"]] == ["1"]
    counts = client.ask(f"submissions/{started}").json()["counts"]
    assert counts == {"received": 4, "accepted": 0, "duplicate": 0, "rejected": 0, "ignored": 1, "pending": 3}
    ignored = client.ask(f"submissions/{started}/items?state=ignored").json()
    assert [one["state"] for one in ignored["results"]] == ["ignored"]
    assert ignored["next"] is None


def test_the_folder_of_a_relative_path_names_the_class(ben, started):
    answer = put(caller(ben), started, "c.png", png(), relative_path="pictures/1/c.png")
    assert answer.json()["items"][0]["label"] == "1"


def test_a_repeated_upload_with_its_key_counts_once(ben, started):
    client, content = caller(ben), png()
    first = put(client, started, "a.png", content, key="up1", label="0")
    again = put(client, started, "a.png", content, key="up1", label="0")
    assert first.json() == again.json()
    assert Item.objects.count() == 1
    assert put(client, started, "a.png", png(5), key="up1", label="0").status_code == 422
    assert put(client, started, "a.png", content, label="0").json()["items"][0]["state"] == "duplicate"


def test_bad_forms_are_refused_in_words(ben, started):
    client, path = caller(ben), f"/api/v1/submissions/{started}/files"
    assert client.post(path, {}).json()["fields"] == {"file": ["No file was submitted."]}
    for attributes in ("[1]", "{", '{"a": "\\u0000"}', '{"sex": "F"}'):
        answer = put(client, started, "a.png", png(), attributes=attributes)
        assert answer.status_code == 400, attributes
    assert client.send(f"submissions/{started}/files", {"file": "x"}).status_code == 415
    assert not Item.objects.exists()


def test_one_file_comes_in_each_request(ben, started):
    client, path = caller(ben), f"/api/v1/submissions/{started}/files"
    two = [SimpleUploadedFile(f"{name}.png", png(name)) for name in range(2)]
    assert client.post(path, {"file": two, "label": "0"}).json()["fields"] == {
        "file": ["Send one in each request."]
    }
    assert client.post(path, {"file": two[0], "other": two[1]}).json()["fields"] == {
        "other": ["There is no such field."]
    }
    many = {"file": [SimpleUploadedFile("a.png", b"x") for _ in range(201)]}
    assert client.post(path, many).status_code == 413
    assert not Item.objects.exists()


def test_lists_cost_the_same_however_long(ben, started, django_assert_num_queries):
    client = caller(ben)
    put(client, started, "a.png", png(), label="0")
    client.ask("submissions")  # notes the token's use
    for _ in range(2):
        with django_assert_num_queries(5):  # token, two of permissions, rows, counts
            client.ask("submissions")
        with django_assert_num_queries(5):  # token, two of permissions, submission, rows
            client.ask(f"submissions/{started}/items")
        for shade in range(4):
            put(client, started, f"{shade}.png", png(shade + 1), label="0")
            caller(ben).send("campaigns/digits/submissions", {"consent_version": 1})


def test_a_file_over_the_limit_is_413(ben, started, settings):
    settings.HYDRA_MAX_FILE_BYTES = 1000
    answer = put(caller(ben), started, "a.png", png())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_big")
    assert not Item.objects.exists()


def test_strange_names_are_kept_showable(ben, started):
    for index, name in enumerate(["x" * 300 + ".png", "a\u202egnp.png", "-rf.png"]):
        answer = put(caller(ben), started, name, png(index), label="0")
        assert answer.status_code == 201
        assert len(answer.json()["items"][0]["name"]) <= 300


def test_completing_queues_validation_once(ben, started):
    client = caller(ben)
    empty = client.send(f"submissions/{started}/complete")
    assert (empty.status_code, empty.json()["code"]) == (400, "empty_submission")
    put(client, started, "a.png", png(), label="0")
    assert client.send(f"submissions/{started}/complete").json()["state"] == "queued"
    assert client.send(f"submissions/{started}/complete").status_code == 200
    assert put(client, started, "b.png", png(1)).status_code == 409


def test_contributor_owner_and_moderator_see_it_and_nobody_else(ada, ben, cleo, dan, started):
    put(caller(ben), started, "a.png", png(), label="0")
    item = str(Item.objects.get().public_id)
    for path in (f"submissions/{started}", f"submissions/{started}/items", f"items/{item}"):
        for client in (caller(ben), caller(ada), caller(cleo, "read", "moderate")):
            assert client.ask(path).status_code == 200
        for client in (caller(dan), caller(cleo, "read")):
            assert client.ask(path).status_code == 404
        assert Caller().ask(path).status_code == 401
    assert caller(ada).send(f"submissions/{started}/complete").status_code == 403
    assert caller(ada).ask("submissions").json() == {"results": [], "next": None}
    assert len(caller(ben).ask("submissions?campaign=digits&state=receiving").json()["results"]) == 1
    assert caller(ben).ask("submissions?state=done").status_code == 400


def test_an_item_tells_its_evidence_and_verdicts(ben, started):
    put(caller(ben), started, "a.png", png(), label="0")
    item = Item.objects.get()
    item.evidence.create(
        validator="sharpness",
        version="1",
        score=0.5,
        outcome="suspect",
        reasons=["Blurred."],
        digest="0" * 64,
    )
    item.verdicts.create(sequence=1, outcome="needs_review", reason="Doubtful.")
    answer = caller(ben).ask(f"items/{item.public_id}").json()
    assert [one["reasons"] for one in answer["evidence"]] == [["Blurred."]]
    assert [(one["by"], one["outcome"]) for one in answer["verdicts"]] == [("policy", "needs_review")]
    assert answer["reward"] == {"nano": 0, "hyd": "0"}
    assert answer["duplicate_of"] is None


def test_a_duplicate_names_its_twin_only_to_who_may_see_it(ada, ben, dan, cleo, campaign, started):
    content = png()
    put(caller(ben), started, "a.png", content, label="0")
    other = caller(dan).send("campaigns/digits/submissions", {"consent_version": 1}).json()["id"]
    twin = put(caller(dan), other, "b.png", content, label="0").json()["items"][0]
    assert (twin["state"], twin["duplicate_of"]) == ("duplicate", None)
    shown = caller(cleo, "read", "moderate").ask(f"items/{twin['id']}").json()
    assert shown["duplicate_of"] == str(Item.objects.get(contributor=ben).public_id)
    assert caller(ada).ask(f"items/{twin['id']}").json()["duplicate_of"] == shown["duplicate_of"]


def test_content_is_the_served_copy_with_a_fixed_type(ben, dan, started):
    from marketplace.services.storage import store_served

    put(caller(ben), started, "a.png", png(), label="0")
    item = Item.objects.get()
    path = f"items/{item.public_id}/content"
    assert caller(ben).ask(path).status_code == 404
    Item.objects.update(served_key=store_served(item.public_id, png()))
    response = caller(ben).ask(path)
    assert (response.status_code, response["Content-Type"]) == (200, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response.body[:4] == b"\x89PNG"
    assert caller(dan).ask(path).status_code == 404
    Item.objects.update(served_key="served/x.html")
    assert caller(ben).ask(path).status_code == 404


@pytest.mark.parametrize(
    "modality,fields,kind,content",
    [
        ("text", {"text": "<script>"}, "text/plain; charset=utf-8", b"<script>"),
        ("tabular", {"row": {"a": "<b>"}}, "application/json", b'{"a": "<b>"}'),
    ],
)
def test_texts_and_rows_are_never_html(ben, campaign, modality, fields, kind, content):
    campaign.modality = modality
    campaign.save()
    submission = Submission.objects.create(campaign=campaign, contributor=ben, consent_version=1)
    item = Item.objects.create(
        campaign=campaign, submission=submission, contributor=ben, position=0, name="a", **fields
    )
    response = caller(ben).ask(f"items/{item.public_id}/content")
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == (kind, "nosniff")
    assert response["Content-Disposition"].startswith("attachment")
    assert response.content == content


def test_a_submission_shows_what_was_found_about_it_as_a_whole(ben, started):
    Evidence.objects.create(
        submission=Submission.objects.get(public_id=started),
        validator="labels",
        version="1",
        outcome="not_enough_evidence",
        reasons=["Fewer than 40 accepted items."],
        digest="0" * 64,
    )
    [found] = caller(ben).get(f"/api/v1/submissions/{started}").json()["evidence"]
    assert (found["validator"], found["reasons"]) == ("labels", ["Fewer than 40 accepted items."])


def test_the_list_of_submissions_leaves_evidence_out(ben, started):
    [row] = caller(ben).get("/api/v1/submissions").json()["results"]
    assert "evidence" not in row
