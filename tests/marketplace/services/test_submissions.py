"""Receiving: every entry becomes a row with its reason; the same bytes are live once (S1, S10, S12)."""

import pytest

from marketplace.errors import InvalidInput, KeyReused, NotAllowed, NotFound, TooLarge, WrongState
from marketplace.models import Item, Submission
from marketplace.selectors import submissions as selectors
from marketplace.services import storage
from marketplace.services.submissions import (
    ReceivedFile,
    complete_submission,
    receive_file,
    start_submission,
)
from tests.marketplace.world import make_campaign, picture, zipped

MAC = b"\x00\x05\x16\x07" + bytes(208)


@pytest.fixture
def receiving(shapes, ben) -> Submission:
    return start_submission(shapes, ben, consent_version=1)


def receive(submission: Submission, content: bytes, name: str = "a.png", **options) -> list[Item]:
    return receive_file(submission, ReceivedFile(name, content=content, **options), by=submission.contributor)


def test_a_key_starts_one_submission(shapes, ben, vera):
    first = start_submission(shapes, ben, consent_version=1, idempotency_key="k")
    assert start_submission(shapes, ben, consent_version=1, idempotency_key="k") == first
    assert start_submission(shapes, vera, consent_version=1, idempotency_key="k") != first
    assert start_submission(shapes, ben, consent_version=1) != first
    with pytest.raises(KeyReused):
        start_submission(shapes, ben, consent_version=2, idempotency_key="k")


def test_an_old_consent_or_a_closed_campaign_starts_nothing(shapes, ben):
    with pytest.raises(InvalidInput) as refused:
        start_submission(shapes, ben, consent_version=7)
    assert "consent_version" in refused.value.fields
    shapes.state = "closed"
    with pytest.raises(WrongState):
        start_submission(shapes, ben, consent_version=1)
    assert not Submission.objects.exists()


def test_system_files_are_ignored_and_counted(receiving):
    members = {
        "set/cross/cat.png": picture("cross", 1), "__MACOSX/set/cross/._cat.png": MAC,
        "set/.DS_Store": b"x", "set/Thumbs.db": b"y", "set/x/": b"",
    }  # fmt: skip
    items = receive(receiving, zipped(members), "set.zip")
    assert sorted(item.state for item in items) == ["ignored", "ignored", "ignored", "pending"]
    assert all(item.reason for item in items if item.state == "ignored")
    assert selectors.count(receiving) == selectors.Counts(received=4, ignored=3, pending=1)


def test_the_original_is_kept_under_its_hash_and_labelled_by_folder(receiving):
    content = picture("ring", 1)
    (item,) = receive(receiving, content, "mine/ring/a.png")
    assert (item.state, item.label, item.position) == ("pending", "ring", 0)
    assert storage.read(item.original_key) == content
    assert item.original_sha256 in item.original_key and "a.png" not in item.original_key


def test_places_continue_from_file_to_file(receiving):
    for number in range(3):
        receive(receiving, picture("ring", number), label="ring")
    assert list(receiving.items.values_list("position", flat=True)) == [0, 1, 2]


def test_an_unknown_label_is_refused_and_a_near_one_asked_about(receiving):
    unknown, near = (
        receive(receiving, picture("ring", 1), label="cube"),
        receive(receiving, picture("ring", 2), label="RING"),
    )
    assert unknown[0].state == near[0].state == "rejected"
    assert "did you mean" in near[0].reason and "cross, ring" in unknown[0].reason
    answered = receive(receiving, picture("ring", 2), label="RING", answers={"RING": "ring"})
    assert (answered[0].state, answered[0].label) == ("pending", "ring")


def test_the_same_bytes_are_a_duplicate_at_once(receiving, shapes, vera):
    (first,) = receive(receiving, picture("ring", 1), label="ring")
    (second,) = receive(receiving, picture("ring", 1), "b.png", label="cross")
    assert (second.state, second.duplicate_of) == ("duplicate", first)
    other = start_submission(shapes, vera, consent_version=1)
    (third,) = receive(other, picture("ring", 1), label="ring")
    assert (third.state, third.duplicate_of) == ("duplicate", first)
    assert "a.png" in second.reason and "a.png" not in third.reason  # others' names are not shown
    assert selectors.find_twin(second, receiving.contributor) == first
    assert selectors.find_twin(third, vera) is None


def test_twins_in_one_archive_and_the_same_bytes_elsewhere(receiving, ada, ben):
    ring = picture("ring", 1)
    items = receive(receiving, zipped({"ring/a.png": ring, "ring/b.png": ring, "ring/c.png": ring}), "s.zip")
    assert [item.state for item in items] == ["pending", "duplicate", "duplicate"]
    elsewhere = start_submission(make_campaign(ada, "other"), ben, consent_version=1)
    assert receive(elsewhere, ring, label="ring")[0].state == "pending"


def test_after_a_rejection_the_bytes_may_come_again(receiving):
    (first,) = receive(receiving, picture("ring", 1), label="ring")
    Item.objects.filter(pk=first.pk).update(state="rejected")
    assert receive(receiving, picture("ring", 1), label="ring")[0].state == "pending"


def test_a_system_file_by_itself_is_ignored(receiving):
    (item,) = receive(receiving, b"\x00\x00\x00\x01Bud1", ".DS_Store", label="ring")
    assert (item.state, item.reason) == ("ignored", "A system file of macOS or Windows, not data.")


def test_texts_are_known_by_content_and_rows_by_place(notes, ada, ben):
    texts = start_submission(notes, ben, consent_version=1)
    table = b"text,label\nWell done.,good\nWell done.,good\nAwful.,bad\n,bad\n"
    items = receive(texts, table, "t.csv")
    assert [item.state for item in items] == ["pending", "duplicate", "pending", "rejected"]
    columns = [{"name": "age", "type": "number"}]
    people = make_campaign(ada, "people", modality="tabular", classes=["y", "n"], columns=columns)
    rows = start_submission(people, ben, consent_version=1)
    sent = [receive(rows, b"age,label\n5,y\n5,y\n", "r.csv") for _ in range(2)]
    assert [[item.state for item in items] for items in sent] == [["pending"] * 2, ["duplicate"] * 2]
    assert sent[0][0].row == {"age": 5} and sent[0][0].content_sha256 == sent[0][1].content_sha256


def test_attributes_are_those_declared(ada, ben):
    sex = {"name": "sex", "values": ["f", "m"], "targets": {}}
    campaign = make_campaign(ada, "faces", attributes=[sex])
    submission = start_submission(campaign, ben, consent_version=1)
    (good,) = receive(submission, picture("ring", 1), label="ring", attributes={"sex": "f"})
    assert good.attributes == {"sex": "f"}
    for wrong in ({"sex": "x"}, {"age": "9"}, ["sex"]):
        with pytest.raises(InvalidInput) as refused:
            receive(submission, picture("ring", 2), label="ring", attributes=wrong)
        assert "attributes" in refused.value.fields


@pytest.mark.parametrize(
    "content, name", [(b"", "a.png"), (b"PK\x03\x04 torn", "a.zip"), (b"\x1f\x8bxx", "a.gz")]
)
def test_a_file_that_cannot_be_taken_leaves_nothing(receiving, content, name):
    with pytest.raises(InvalidInput) as refused:
        receive(receiving, content, name, label="ring")
    assert refused.value.fields["file"]
    assert not receiving.items.exists()


def test_a_file_over_the_limit_is_refused(receiving, settings):
    settings.HYDRA_MAX_FILE_BYTES = 100
    with pytest.raises(TooLarge):
        receive(receiving, picture("ring", 1), label="ring")


def test_names_are_made_safe_and_never_reach_storage(receiving):
    name = "-rf\n\u202egnp.exe" + "x" * 400 + ".png"
    (item,) = receive(receiving, picture("ring", 1), name, label="ring")
    assert len(item.name) <= 300 and item.name.isprintable()
    assert "exe" not in item.original_key


def test_completing_queues_once_and_ends_receiving(receiving, ben, django_capture_on_commit_callbacks):
    with pytest.raises(InvalidInput):
        complete_submission(receiving, by=ben)
    receive(receiving, picture("ring", 1), label="ring")
    sent = []
    for _ in range(2):
        with django_capture_on_commit_callbacks() as callbacks:
            complete_submission(receiving, by=ben)
        sent.append(len(callbacks))
    assert (receiving.state, sent) == ("queued", [1, 0])
    with pytest.raises(WrongState):
        receive(receiving, picture("ring", 2), label="ring")


def test_a_stranger_sees_and_sends_nothing(receiving, ben, eve, ada, cleo):
    receive(receiving, picture("ring", 1), label="ring")
    with pytest.raises(NotAllowed):
        receive_file(receiving, ReceivedFile("a.png", content=b"x"), by=eve)
    with pytest.raises(NotAllowed):
        complete_submission(receiving, by=eve)
    item = receiving.items.get()
    for viewer in (eve, None):
        with pytest.raises(NotFound):
            selectors.get(receiving.public_id, viewer)
        with pytest.raises(NotFound):
            selectors.get_item(item.public_id, viewer)
    for viewer in (ben, ada, cleo):
        assert selectors.get_item(str(item.public_id), viewer) == item


def test_a_closed_campaign_takes_no_more_files(receiving, shapes):
    shapes.state = "closed"
    shapes.save()
    receiving.refresh_from_db()
    with pytest.raises(WrongState):
        receive(receiving, picture("ring", 1), label="ring")


def test_ones_own_submissions_are_listed_with_their_counts(receiving, ben, eve):
    receive(receiving, picture("ring", 1), label="ring")
    receive(receiving, picture("ring", 1), label="ring")
    (listed,) = selectors.of_user(ben)
    assert (listed.received, listed.pending, listed.duplicate, listed.rewarded) == (2, 1, 1, 0)
    assert not selectors.of_user(eve).exists()
