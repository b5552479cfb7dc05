"""Downloads: resumed, restarted, checked; never half a file under its final name."""

import hashlib
import json

import httpx
import pytest

from client.downloads import Wanted, download
from client.errors import CorruptDownload, NotFound, UnexpectedAnswer, Unreachable
from tests.client.portal import Portal, answer, refusal

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Broken(httpx.SyncByteStream):
    """Sends some bytes, then the connection ends."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self):
        yield self.data
        raise httpx.ReadError("connection reset")


def whole(**headers):
    return httpx.Response(200, content=CONTENT, headers={"ETag": f'"{SHA256}"', **headers})


def rest(first: int, said: int | None = None):
    span = f"bytes {first if said is None else said}-{len(CONTENT) - 1}/{len(CONTENT)}"
    return httpx.Response(206, content=CONTENT[first:], headers={"Content-Range": span})


def fetch(tmp_path, answers, sha256=SHA256, progress=None):
    portal = Portal(answers)
    wanted = Wanted("/releases/r/files/f", tmp_path / "f.zip", sha256)
    return portal, download(portal.hydra.transport, wanted, progress)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_progress_is_told(tmp_path):
    told = []
    _, path = fetch(tmp_path, [whole()], progress=lambda *said: told.append(said))
    assert path.read_bytes() == CONTENT
    assert names(tmp_path) == ["f.zip"]
    assert told[-1] == ("f.zip", len(CONTENT), len(CONTENT))


def test_a_broken_download_goes_on_where_it_stopped(tmp_path):
    portal, path = fetch(tmp_path, [httpx.Response(200, stream=Broken(CONTENT[:1000])), rest(1000)])
    assert path.read_bytes() == CONTENT
    assert portal.requests[1].headers["Range"] == "bytes=1000-"
    assert portal.requests[1].headers["If-Range"] == f'"{SHA256}"'


def test_a_later_call_goes_on_from_the_part_that_is_left(tmp_path):
    with pytest.raises(Unreachable):
        fetch(
            tmp_path, [httpx.Response(200, stream=Broken(CONTENT[:1000])), *[httpx.ConnectError("gone")] * 9]
        )
    assert names(tmp_path) == ["f.zip.part"]
    portal, path = fetch(tmp_path, [rest(1000)])
    assert portal.requests[0].headers["Range"] == "bytes=1000-"
    assert path.read_bytes() == CONTENT


def test_a_server_that_cannot_resume_sends_all_again(tmp_path):
    (tmp_path / "f.zip.part").write_bytes(b"other bytes")
    _, path = fetch(tmp_path, [whole()])
    assert path.read_bytes() == CONTENT


def test_a_range_that_starts_elsewhere_is_not_appended(tmp_path):
    (tmp_path / "f.zip.part").write_bytes(CONTENT[:500])
    with pytest.raises(CorruptDownload):
        fetch(tmp_path, [rest(1000, said=1000)])
    assert names(tmp_path) == []


def test_a_part_that_is_complete_is_checked_and_kept(tmp_path):
    (tmp_path / "f.zip.part").write_bytes(CONTENT)
    _, path = fetch(tmp_path, [httpx.Response(416)])
    assert path.read_bytes() == CONTENT


def test_bytes_that_are_not_those_promised_leave_nothing(tmp_path):
    with pytest.raises(CorruptDownload) as caught:
        fetch(tmp_path, [whole()], sha256="0" * 64)
    assert caught.value.received == SHA256
    assert names(tmp_path) == []


def test_the_etag_is_the_promise_where_there_is_no_other(tmp_path):
    fetch(tmp_path, [whole()], sha256="")
    (tmp_path / "f.zip").unlink()
    with pytest.raises(CorruptDownload):
        fetch(tmp_path, [httpx.Response(200, content=b"other", headers={"ETag": f'"{SHA256}"'})], sha256="")


def test_a_file_that_is_there_and_right_is_not_fetched_again(tmp_path):
    (tmp_path / "f.zip").write_bytes(CONTENT)
    portal, _ = fetch(tmp_path, [])
    assert portal.requests == []


def test_a_file_that_is_there_and_wrong_is_replaced(tmp_path):
    (tmp_path / "f.zip").write_bytes(b"old")
    _, path = fetch(tmp_path, [whole()])
    assert path.read_bytes() == CONTENT


def test_a_refusal_is_not_tried_again(tmp_path):
    with pytest.raises(NotFound):
        fetch(tmp_path, [refusal(404, "not_found")])
    assert names(tmp_path) == []


def release(files):
    """A portal that holds one release with these files beside its manifest."""
    entries = [{"name": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()]
    manifest = json.dumps({"files": entries}).encode()
    shown = {"state": "ready", "manifest_sha256": hashlib.sha256(manifest).hexdigest()}

    def handle(request):
        path = request.url.path.removeprefix("/api/v1/releases/r")
        if path == "":
            return answer(shown)
        known = {"/manifest": manifest, "/files/croissant.json": b"{}"}
        known |= {f"/files/{name}": data for name, data in files.items()}
        return httpx.Response(200, content=known[path]) if path in known else refusal(404, "not_found")

    return Portal(handle)


def test_a_release_comes_with_its_manifest_and_what_lies_beside(tmp_path):
    portal = release({"train-00000.zip": b"train", "test-00000.zip": b"test"})
    portal.hydra.releases.download("r", tmp_path)
    assert names(tmp_path) == ["croissant.json", "manifest.json", "test-00000.zip", "train-00000.zip"]


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", ".hidden", "a/b"])
def test_a_manifest_that_names_a_place_outside_is_refused(tmp_path, name):
    folder = tmp_path / "here"
    with pytest.raises(UnexpectedAnswer, match="names a file"):
        release({name: b"x"}).hydra.releases.download("r", folder)
    assert names(tmp_path) == ["here"] and names(folder) == ["manifest.json"]


def test_a_release_that_is_not_ready_is_not_downloaded(tmp_path):
    portal = Portal([answer({"state": "building"})])
    with pytest.raises(NotFound, match="building"):
        portal.hydra.releases.download("r", tmp_path)
