"""Reading shards: the order that the sampler counts by, and refusals that name file and line."""

import zipfile

import pytest

from tests.trainer.recipes.releases import jsonl, lines, manifest, write_zip
from trainer.recipes import RecipeError, ShardError
from trainer.recipes.shards import check_manifest, read_samples

TWO_FILES = manifest(
    "text", ["no", "yes"], {}, [("train-0.jsonl", "train", 2), ("train-1.jsonl", "train", 1)]
)
PICTURES = manifest("image", ["no", "yes"], {"channels": 1, "side": 8}, [("train-0.zip", "train", 1)])
GOOD = {"id": "a", "label": "yes", "split": "train", "text": "good"}


def text_file(folder, name, *entries):
    path = folder / name
    path.write_bytes(jsonl(entries))
    return path


def refusal(paths, description):
    with pytest.raises(ShardError) as caught:
        list(read_samples(paths, description))
    return caught.value


def test_samples_come_in_the_manifests_order_whatever_order_the_paths_have(tmp_path):
    first = text_file(tmp_path, "train-0.jsonl", *lines("text", [("a", "yes", "one"), ("b", "no", "two")]))
    second = text_file(tmp_path, "train-1.jsonl", *lines("text", [("c", "yes", "three")]))
    samples = list(read_samples([second, first], TWO_FILES))
    assert [sample.id for sample in samples] == ["a", "b", "c"]
    assert [sample.label for sample in samples] == [1, 0, 1]
    assert [sample.content for sample in samples] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "second_line, said",
    [
        (b"{broken\n", "is not JSON"),
        (b"\xff\xfe\n", "is not JSON"),
        (b"[1, 2]\n", "must be an object"),
        (
            b'{"id": "b", "label": "yes", "split": "train", "text": NaN}\n',
            "NaN is not a number that JSON knows",
        ),
        (jsonl([{**GOOD, "id": 7}]), "needs 'id' as a string, not 7"),
        (jsonl([{**GOOD, "id": "b", "label": "maybe"}]), "label 'maybe'; the classes are: no, yes"),
        (jsonl([{**GOOD, "id": "b", "split": "test"}]), "of the split 'test', in a file for 'train'"),
        (jsonl([{**GOOD, "id": "b", "text": None}]), "needs 'text' as a string, not None"),
        (jsonl([GOOD]), "the item a was already at train-0.jsonl:1"),
    ],
)
def test_a_bad_line_is_refused_with_its_file_and_number(tmp_path, second_line, said):
    path = tmp_path / "train-0.jsonl"
    path.write_bytes(jsonl([GOOD]) + second_line)
    error = refusal([path], TWO_FILES)
    assert (error.file, error.line) == ("train-0.jsonl", 2)
    assert said in error.message
    assert error.message.startswith("train-0.jsonl:2: ")


def test_a_file_with_fewer_items_than_the_manifest_says_is_refused(tmp_path):
    error = refusal([text_file(tmp_path, "train-0.jsonl", GOOD)], TWO_FILES)
    assert "holds 1 items, and the manifest says 2" in error.message


def test_a_file_that_the_manifest_does_not_list_is_refused(tmp_path):
    assert "not in the manifest" in refusal([text_file(tmp_path, "other.jsonl", GOOD)], TWO_FILES).message


def test_a_missing_file_is_refused(tmp_path):
    assert "is not there" in refusal([tmp_path / "train-0.jsonl"], TWO_FILES).message
    assert "is not there" in refusal([tmp_path / "train-0.zip"], PICTURES).message


def picture_line(**changes):
    return {"id": "a", "label": "yes", "split": "train", "file": "a.png"} | changes


def test_a_picture_comes_with_its_bytes(tmp_path):
    path = write_zip(tmp_path / "train-0.zip", [picture_line()], {"a.png": b"bytes"})
    assert [sample.content for sample in read_samples([path], PICTURES)] == [b"bytes"]


def test_a_picture_named_but_absent_is_refused_at_its_line(tmp_path):
    path = write_zip(tmp_path / "train-0.zip", [picture_line(file="b.png")], {"a.png": b"bytes"})
    error = refusal([path], PICTURES)
    assert (error.file, error.line) == ("train-0.zip/items.jsonl", 1)
    assert "'b.png', which the archive does not hold" in error.message


def test_a_compressed_archive_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "train-0.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("items.jsonl", "0" * 100_000)
    assert "is compressed" in refusal([path], PICTURES).message


@pytest.mark.parametrize("damage", [b"", b"not a zip at all"])
def test_what_is_no_archive_is_refused(tmp_path, damage):
    path = tmp_path / "train-0.zip"
    path.write_bytes(damage)
    assert "is not a readable zip" in refusal([path], PICTURES).message


def test_flipped_bytes_inside_an_archive_are_refused(tmp_path):
    path = write_zip(tmp_path / "train-0.zip", [picture_line()], {"a.png": b"A" * 1000})
    path.write_bytes(path.read_bytes().replace(b"A" * 10, b"B" * 10, 1))
    assert "Bad CRC-32" in refusal([path], PICTURES).message


def test_an_archive_without_its_list_is_refused(tmp_path):
    path = tmp_path / "train-0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.png", b"bytes")
    assert "holds no items.jsonl" in refusal([path], PICTURES).message


@pytest.mark.parametrize(
    "change, said",
    [
        ({"format": "hydra-release/9"}, "this version reads hydra-release/1"),
        ({"modality": "image"}, "holds image items, and this recipe trains on text"),
        ({"classes": ["only"]}, "two or more different class names"),
        ({"classes": ["same", "same"]}, "two or more different class names"),
        ({"files": [{"name": "a"}]}, "files must be a list of objects"),
        ({"schema": []}, "schema must be an object"),
    ],
)
def test_another_kind_of_release_is_refused(change, said):
    with pytest.raises(RecipeError, match=said):
        check_manifest(TWO_FILES | change, "text")
