"""S1, S2: archives are judged from their directory; folders name classes; damage costs its own item."""

import os
import stat
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marketplace.intake import (
    ArchiveDamaged,
    ArchiveRefused,
    Refusal,
    UploadLimits,
    UploadOptions,
    UploadRefused,
    UploadSchema,
    plan_upload,
    read_entries,
)
from tests.marketplace.intake.pictures import lying_archive, overlap_bomb, png, zipped

IMAGES = UploadSchema("image", ("cat", "dog"))


def plan(path, schema=IMAGES, **options):
    return plan_upload(path.name, path, schema, options=UploadOptions(**options))


def test_a_mac_archive_gives_one_picture_and_three_system_files(tmp_path):
    members = {
        "set/cat.jpg": png(),
        "__MACOSX/set/._cat.jpg": bytes.fromhex("00051607") + b"\0" * 208,
        "set/.DS_Store": b"x",
        "set/Thumbs.db": b"x",
    }
    path = zipped(tmp_path / "set.zip", members)
    with zipfile.ZipFile(path, "a") as archive:
        archive.mkdir("set/x/")
    found = plan(path, label="cat")
    assert [e.name for e in found.of("data")] == ["set/cat.jpg"]
    assert len(found.of("ignored")) == 3
    assert all("system file" in e.reason for e in found.of("ignored"))
    assert len(found.entries) == 4


def test_folders_name_the_classes_and_a_stranger_is_asked_about(tmp_path):
    members = {"all/dog/1.png": png(1), "all/cat /2.png": png(2), "all/Dog/3.png": png(3), "4.png": png(4)}
    found = plan(zipped(tmp_path / "a.zip", members))
    assert {e.name: e.label for e in found.of("data")} == {"all/dog/1.png": "dog", "all/cat /2.png": "cat"}
    asked, bare = found.of("refused")
    assert "did you mean “dog”" in asked.reason
    assert "folder named after its class" in bare.reason
    assert [(q.label, q.suggestion) for q in found.questions] == [("Dog", "dog")]
    answered = plan(tmp_path / "a.zip", answers={"Dog": "dog"})
    assert len(answered.of("data")) == 3


def test_a_table_of_labels_in_the_archive_is_read(tmp_path):
    schema = UploadSchema("image", ("cat", "dog"), attributes=("place",))
    members = {
        "labels.csv": b"file,label,place\n1.png,dog,north\n2.png,,\n",
        "1.png": png(1),
        "2.png": png(2),
    }
    found = plan(zipped(tmp_path / "a.zip", members), schema)
    (entry,) = found.of("data")
    assert (entry.label, dict(entry.attributes)) == ("dog", {"place": "north"})
    assert [e.name for e in found.of("ignored")] == ["labels.csv"]
    assert "no label in the archive's table" in found.of("refused")[0].reason


def test_the_overlap_bomb_is_refused_from_its_directory(tmp_path):
    path = overlap_bomb(tmp_path / "bomb.zip")
    assert path.stat().st_size < 70_000
    with pytest.raises(ArchiveRefused, match="share the same bytes") as caught:
        plan(path)
    assert caught.value.code == "overlap"


def test_the_same_member_listed_once_is_fine(tmp_path):
    path = overlap_bomb(tmp_path / "one.zip", copies=1)
    assert len(plan(path, label="cat").of("data")) == 1


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("cat/link.png")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, "/etc/passwd")


HOSTILE = {
    "../../x.jpg": "climbs out",
    "cat/../../x.jpg": "climbs out",
    "C:/x/y.jpg": "drive path",
    "/etc/x.jpg": "absolute path",
    "cat/in.zip": "archive inside the archive",
}


@pytest.mark.parametrize("name, words", HOSTILE.items())
def test_hostile_members_are_refused_by_themselves(tmp_path, name, words):
    found = plan(zipped(tmp_path / "a.zip", {name: png(), "cat/ok.png": png(1)}))
    assert [e.name for e in found.of("data")] == ["cat/ok.png"]
    assert words in found.of("refused")[0].reason


def test_backslash_paths_are_paths_too(tmp_path):
    path = zipped(tmp_path / "a.zip", {"C:/x/y.jpg": png(), "cat/z.png": png(1)})
    path.write_bytes(
        path.read_bytes().replace(b"C:/x/y.jpg", rb"C:\x\y.jpg").replace(b"cat/z.png", rb"cat\z.png")
    )
    found = plan(path)
    assert "drive path" in found.of("refused")[0].reason
    assert found.of("data")[0].label == "cat"


def test_links_and_encrypted_members_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"cat/secret.png": png()})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in plan(path).of("refused")[0].reason
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        link(archive)
    assert "symbolic link" in plan(tmp_path / "b.zip").of("refused")[0].reason


def test_a_header_that_contradicts_the_directory_is_damage(tmp_path):
    with pytest.raises(ArchiveDamaged, match=r"archive is damaged.*size or checksum"):
        plan(lying_archive(tmp_path / "a.zip", directory_too=False), label="cat")


def test_a_size_that_both_headers_lie_about_costs_its_own_item(tmp_path):
    path = lying_archive(tmp_path / "a.zip", directory_too=True)
    found = plan(path, label="cat")
    ((_, data),) = read_entries(path, found.entries)
    assert isinstance(data, Refusal)
    assert data.code == "archive_damaged"
    assert "Archive damaged" in data.reason
    assert "CRC" not in data.reason


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_cut_archive_is_damage(tmp_path, cut):
    path = zipped(tmp_path / "a.zip", {"cat/1.png": png()})
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ArchiveDamaged):
        plan(path)


def test_limits_are_named(tmp_path):
    path = zipped(tmp_path / "a.zip", {f"cat/{i}.png": b"x" * 100 for i in range(5)})
    with pytest.raises(ArchiveRefused, match="lists 5 entries; the limit is 4"):
        plan_upload("a.zip", path, IMAGES, UploadLimits(entries=4))
    with pytest.raises(ArchiveRefused, match="Unpacked"):
        plan_upload("a.zip", path, IMAGES, UploadLimits(total_bytes=499))
    found = plan_upload("a.zip", path, IMAGES, UploadLimits(file_bytes=99))
    assert len(found.of("refused")) == 5
    assert len(plan_upload("a.zip", path, IMAGES, UploadLimits(entries=5, total_bytes=500)).of("data")) == 5


def test_unicode_names_survive_and_come_back_with_their_bytes(tmp_path):
    path = zipped(tmp_path / "a.zip", {"cat/größe 猫.png": b"one", "dog/2.png": b"two"})
    found = plan(path)
    assert [e.name for e in found.of("data")] == ["cat/größe 猫.png", "dog/2.png"]
    assert [data for _, data in read_entries(path, found.entries)] == [b"one", b"two"]
    assert [data for _, data in read_entries(path, found.of("data")[1:])] == [b"two"]


def test_many_files_and_strange_names_are_all_accounted_for(tmp_path):
    """S11: 1,001 small files, a name of 300 characters, a newline, a direction mark, a leading dash."""
    strange = ["x" * 296 + ".png", "a\nb.png", "photo\u202egnp.exe", "-rf.png"]
    members = {f"cat/{i}.png": b"x" * 1_000 for i in range(997)} | {f"dog/{name}": b"y" for name in strange}
    path = zipped(tmp_path / "a.zip", members)
    found = plan(path)
    assert len(found.of("data")) == len(found.entries) == 1_001
    assert all(len(e.name) <= 300 and "\n" not in e.name and "\u202e" not in e.name for e in found.entries)
    opened = len(os.listdir("/proc/self/fd"))
    counts = {len(os.listdir("/proc/self/fd")) for _ in read_entries(path, found.entries)}
    assert max(counts) <= opened + 1


def test_an_archive_without_files_and_an_office_file_are_refused(tmp_path):
    with pytest.raises(UploadRefused, match="no files"):
        plan(zipped(tmp_path / "a.zip", {}))
    with pytest.raises(UploadRefused, match="Office document"):
        plan(zipped(tmp_path / "a.xlsx", {"[Content_Types].xml": b"<x/>"}))


def test_a_text_archive_gives_texts_and_rows_of_tables(tmp_path):
    schema = UploadSchema("text", ("ham", "spam"))
    members = {
        "spam/1.txt": "Günstig".encode("cp1252"),
        "more.csv": b"text,label\nhello,ham\n,ham\n",
        "spam/2.txt": b" ",
    }
    found = plan(zipped(tmp_path / "a.zip", members), schema)
    assert [(e.text, e.label) for e in found.of("data")] == [("Günstig", "spam"), ("hello", "ham")]
    assert len(found.of("refused")) == 2


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), value=st.integers(0, 255))
def test_one_changed_byte_never_breaks_out(tmp_path, at, value):
    """Whatever byte is changed: a plan that accounts for all, or an IntakeError; reading gives bytes or a Refusal."""
    path = zipped(tmp_path / "a.zip", {"cat/1.png": b"one" * 50, "dog/2.png": b"two" * 50})
    data = bytearray(path.read_bytes())
    data[at % len(data)] = value
    path.write_bytes(data)
    try:
        found = plan(path)
        contents = [content for _, content in read_entries(path, found.entries)]
    except UploadRefused:
        return
    assert len(contents) == len(found.of("data"))
    assert all(isinstance(c, (bytes, Refusal)) for c in contents)
