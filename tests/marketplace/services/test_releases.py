"""Releases: the same items give the same bytes, hashes hold, Croissant reads it, and no twin crosses the split."""

import hashlib
import json
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import mlcroissant
import pytest

from marketplace.errors import InvalidInput, NotAllowed, NotFound
from marketplace.models import Item, Release
from marketplace.rules.evidence import Statement, verifies
from marketplace.selectors import releases as selectors
from marketplace.services import releases, storage
from marketplace.services.moderation import decide_many
from tests.marketplace.world import accepted_items, make_campaign, picture, review_item
from trainer.recipes.shards import check_manifest, read_samples

# Croissant's own reader is built on rdflib's old classes.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:mlcroissant"
)


def build(campaign) -> Release:
    release = releases.build_release(campaign, by=campaign.owner)
    assert release.state == "building"
    assert releases.write_release(release.pk)
    release.refresh_from_db()
    return release


def files(release: Release) -> dict[str, bytes]:
    folder = releases.release_folder(release)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def add_pictures(items: list[Item]) -> None:
    for number, item in enumerate(items):
        item.served_key = storage.store_served(item.public_id, picture(item.label, number))
        item.width = item.height = 28
    Item.objects.bulk_update(items, ["served_key", "width", "height"])


@pytest.fixture
def images(shapes, ben) -> Release:
    add_pictures(accepted_items(shapes, ben, 20))
    return build(shapes)


def test_hashes_counts_and_pieces_are_those_of_the_files(images):
    content = files(images)
    assert set(content) == {
        "manifest.json",
        "croissant.json",
        "evidence.jsonl",
        "train-00000.zip",
        "test-00000.zip",
    }
    manifest = json.loads(content["manifest.json"])
    assert manifest == images.manifest
    assert images.manifest_sha256 == hashlib.sha256(content["manifest.json"]).hexdigest()
    assert (
        (images.train_items, images.test_items)
        == (16, 4)
        == tuple(manifest["counts"][role] for role in ("train", "test"))
    )
    for file in manifest["files"]:
        data = content[file["name"]]
        pieces = [data[at : at + 262_144] for at in range(0, len(data), 262_144)]
        assert file["bytes"] == len(data) and file["sha256"] == hashlib.sha256(data).hexdigest()
        assert file["pieces"] == [hashlib.sha256(piece).hexdigest() for piece in pieces]
    assert manifest["schema"] == {"channels": 1, "side": 28}


def test_a_shard_is_stored_and_has_no_times(images):
    with ZipFile(releases.release_folder(images) / "train-00000.zip") as shard:
        assert shard.namelist()[0] == "items.jsonl"
        assert {(info.compress_type, info.date_time) for info in shard.infolist()} == {
            (ZIP_STORED, (1980, 1, 1, 0, 0, 0))
        }


def test_the_trainer_reads_it_in_the_order_of_positions(images):
    check_manifest(images.manifest, "image")
    folder = releases.release_folder(images)
    samples = list(read_samples([folder / "train-00000.zip"], images.manifest))
    entries = (
        images.entries.filter(split="train").order_by("position").values_list("item__public_id", flat=True)
    )
    assert [sample.id for sample in samples] == [str(public_id) for public_id in entries]


def test_croissant_validates_and_loads(images):
    dataset = mlcroissant.Dataset(releases.release_folder(images) / "croissant.json")
    assert not dataset.metadata.issues.errors
    records = list(dataset.records("train-00000"))
    assert len(records) == 16 and {record["train-00000/split"] for record in records} == {b"train"}
    rai = dataset.metadata.to_json()
    assert "cross, ring" in rai["rai:dataAnnotationProtocol"]


@pytest.mark.parametrize("modality", ["text", "tabular"])
def test_croissant_loads_texts_and_rows(ada, ben, modality):
    columns = [{"name": "age", "type": "number"}, {"name": "it's a job", "type": "category", "values": []}]
    campaign = make_campaign(
        ada, modality, modality=modality, columns=columns if modality == "tabular" else []
    )
    rows = {"row": {"age": 5, "it's a job": "nurse"}} if modality == "tabular" else {}
    accepted_items(campaign, ben, 10, **rows)
    release = build(campaign)
    dataset = mlcroissant.Dataset(releases.release_folder(release) / "croissant.json")
    (record, *_) = dataset.records("test-00000")
    if modality == "tabular":
        assert (record["test-00000/row-0"], record["test-00000/row-1"]) == (5.0, b"nurse")
        assert release.manifest["schema"]["columns"][1]["values"] == ["nurse"]
    else:
        assert record["test-00000/text"].startswith(b"text ")


def test_croissant_refuses_a_file_that_was_changed(images):
    folder = releases.release_folder(images)
    shard = folder / "train-00000.zip"
    shard.write_bytes(shard.read_bytes().replace(b'"split":"train"', b'"split":"trian"'))
    with pytest.raises(mlcroissant.GenerationError):
        list(mlcroissant.Dataset(folder / "croissant.json").records("train-00000"))


def test_the_same_items_give_the_same_bytes(images, shapes):
    again = build(shapes)
    assert again.version == images.version + 1
    first, second = files(images), files(again)
    for name in ("train-00000.zip", "test-00000.zip", "evidence.jsonl"):
        assert first[name] == second[name]


def test_a_run_after_a_crash_gives_the_same_release(shapes, ben, images):
    before = files(images)
    Release.objects.filter(pk=images.pk).update(state="building", manifest={})
    (Path(releases.release_folder(images)) / "croissant.json").unlink()
    accepted_items(shapes, ben, 5)  # what was accepted since is not in it
    assert releases.write_release(images.pk)
    assert files(images) == before
    assert not releases.write_release(images.pk)


def test_near_duplicates_stay_on_one_side(notes, ben):
    items = accepted_items(notes, ben, 30)
    for twin in items[1:20]:
        twin.duplicate_of = items[0]
    items[21].content_sha256 = items[20].content_sha256
    Item.objects.bulk_update(items, ["duplicate_of", "content_sha256"])
    release = build(notes)
    sides = dict(release.entries.values_list("item_id", "split"))
    assert len({sides[item.pk] for item in items[:20]}) == 1
    assert sides[items[20].pk] == sides[items[21].pk]
    assert set(sides.values()) == {"train", "test"}


def test_evidence_proves_what_the_reward_was_paid_for(notes, ben, cleo):
    items = [review_item(notes, ben, number, text=f"text {number}") for number in range(3)]
    decide_many(items, moderator=cleo, outcome="accepted", reason="Fine.")
    release = build(notes)
    lines = [json.loads(line) for line in files(release)["evidence.jsonl"].splitlines()]
    assert [line["statement"]["validator"] for line in lines] == ["reward"] * 3
    for line in lines:
        fields = {**line["statement"], "reasons": tuple(line["statement"]["reasons"])}
        assert Statement(**fields).digest() == line["digest"]
        assert verifies(line["digest"], line["proof"], bytes.fromhex(line["root"]))


def test_only_accepted_items_are_released(notes, ben):
    accepted = accepted_items(notes, ben, 4)
    review_item(notes, ben)
    assert build(notes).entries.count() == len(accepted)


def test_nothing_to_release_and_nobody_elses_release(notes, ben, eve):
    with pytest.raises(InvalidInput):
        releases.build_release(notes, by=notes.owner)
    accepted_items(notes, ben, 1)
    with pytest.raises(NotAllowed):
        releases.build_release(notes, by=eve)


def test_a_missing_picture_fails_the_release_in_words(shapes, ben):
    items = accepted_items(shapes, ben, 2)
    add_pictures(items)
    (Path(storage.default_storage.path(items[0].served_key))).unlink()
    release = releases.build_release(shapes, by=shapes.owner)
    assert not releases.write_release(release.pk)
    release.refresh_from_db()
    assert release.state == "failed" and release.failure


def test_who_sees_a_release_and_its_files(images, shapes, eve):
    assert selectors.get(images.public_id, None) == images
    assert releases.find_file(images, "train-00000.zip").endswith("/train-00000.zip")
    with pytest.raises(NotFound):
        releases.find_file(images, "../secret")
    unready = releases.build_release(shapes, by=shapes.owner)
    assert selectors.get(unready.public_id, shapes.owner) == unready
    for viewer in (None, eve):
        with pytest.raises(NotFound):
            selectors.get(unready.public_id, viewer)
