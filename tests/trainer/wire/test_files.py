"""Files as pieces: sizes and hashes that agree, names that are no paths, manifests that keep the test files secret."""

import io

import pytest

from trainer.errors import BadMessage, ReleaseInvalid
from trainer.wire.files import PieceFile
from trainer.wire.manifest import parse_files, without_tests

FILE = PieceFile.of_stream("train-00000.zip", io.BytesIO(b"x" * 5000), 2048)
MANIFEST = {
    "format": "hydra-release/1",
    "release": "r",
    "files": [
        {**FILE.to_dict(), "role": "train", "items": 5},
        {**FILE.to_dict(), "name": "t.zip", "role": "test"},
    ],
}


def test_pieces_cover_the_file():
    assert [(offset, size) for offset, size, _ in FILE.spans()] == [(0, 2048), (2048, 2048), (4096, 904)]


@pytest.mark.parametrize(
    "changes",
    [{"name": "../x"}, {"name": "a/b"}, {"name": ".hidden"}, {"bytes": 4096}, {"pieces": ["ab"]}],
    ids=str,
)
def test_a_file_that_does_not_add_up_is_refused(changes):
    with pytest.raises(BadMessage):
        PieceFile.from_dict({**FILE.to_dict(), **changes})


def test_volunteers_are_not_told_of_the_test_files():
    assert [file.name for file in parse_files(MANIFEST, "train")] == ["train-00000.zip"]
    assert [entry["role"] for entry in without_tests(MANIFEST)["files"]] == ["train"]
    assert parse_files(without_tests(MANIFEST), "test") == []


@pytest.mark.parametrize(
    "manifest",
    [
        {}, [], {**MANIFEST, "format": "x"}, {**MANIFEST, "files": "x"}, {**MANIFEST, "files": [{"role": "train"}]},
    ],
    ids=["empty", "list", "format", "files", "entry"],
)  # fmt: skip
def test_a_manifest_of_another_kind_is_refused(manifest):
    with pytest.raises(ReleaseInvalid):
        parse_files(manifest, "train")
