"""Finding files, and sending many: bounded, repeatable, and one bad file does not stop the others."""

import os
import threading

import httpx
import pytest

from client import errors
from client.uploads import Terms, find_files
from tests.client.portal import Portal, answer, refusal


def tree(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return folder


def paths_of(found):
    return [file.relative_path for file in found]


def test_a_folder_keeps_its_name_and_inner_folders(tmp_path):
    root = tree(tmp_path / "digits", "7/b.png", "7/a.png", "3/c.png", "notes.txt")
    assert paths_of(find_files([root])) == [
        "digits/notes.txt",
        "digits/3/c.png",
        "digits/7/a.png",
        "digits/7/b.png",
    ]
    assert paths_of(find_files([root / "7"])) == ["7/a.png", "7/b.png"]
    assert paths_of(find_files([root / "7" / "a.png"])) == ["a.png"]


def test_a_folder_named_by_a_dot_has_its_real_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tree(tmp_path / "cats", "a.png"))
    assert paths_of(find_files([os.curdir])) == ["cats/a.png"]


def test_a_link_to_a_folder_is_not_followed(tmp_path):
    root = tree(tmp_path / "digits", "a.png")
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert paths_of(find_files([root])) == ["digits/a.png"]


def test_what_cannot_be_sent_is_said_before_anything_is_sent(tmp_path):
    with pytest.raises(errors.ConfigurationError, match="does not exist"):
        find_files([tmp_path / "absent"])
    with pytest.raises(errors.ConfigurationError, match="no files"):
        find_files([tmp_path])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.ConfigurationError, match="not a regular file"):
        find_files([tmp_path])


def test_a_name_that_is_not_utf8_can_still_be_sent(tmp_path):
    folder = os.fsencode(tmp_path)
    with open(folder + b"/\xff.png", "wb") as stream:
        stream.write(b"x")
    (file,) = find_files([tmp_path])
    assert file.relative_path.endswith("/�.png")
    portal = Portal([answer({"received": 1})])
    assert portal.hydra.submissions.send("s", [file])[0].error is None


def send(portal, files, **options):
    return portal.hydra.submissions.send("s", files, **options)


def test_every_file_arrives_with_its_place_and_terms(tmp_path):
    portal = Portal(lambda request: answer({"received": 1}, 201))
    files = find_files([tree(tmp_path / "digits", "3/a.png", "7/b.png")])
    told = []
    sent = send(portal, files, terms=Terms("x", {"sex": "F"}), progress=told.append, at_once=1)
    assert len(sent) == 2 and told == list(sent)
    bodies = [request.content for request in portal.requests]
    assert all(request.url.path == "/api/v1/submissions/s/files" for request in portal.requests)
    for body, place, content in zip(
        bodies, (b"digits/3/a.png", b"digits/7/b.png"), (b"3/a.png", b"7/b.png"), strict=True
    ):
        assert b'name="relative_path"\r\n\r\n' + place in body
        assert b'name="attributes"\r\n\r\n{"sex": "F"}' in body
        assert b"Content-Type: image/png\r\n\r\n" + content in body


def test_a_lost_answer_is_asked_for_again_with_the_whole_file(tmp_path):
    portal = Portal([httpx.ReadTimeout("slow"), answer({"received": 1}, 201)])
    send(portal, find_files([tree(tmp_path, "a.png") / "a.png"]))
    first, second = portal.requests
    assert portal.keys[0] == portal.keys[1]
    assert b"a.png" in first.content and b"a.png\r\n--" in second.content


def test_a_file_has_the_same_key_in_a_later_run_and_another_when_it_changed(tmp_path):
    portal = Portal(lambda request: answer({"received": 1}, 201))
    path = tree(tmp_path, "a.png") / "a.png"
    send(portal, find_files([path]))
    send(portal, find_files([path]))
    path.write_bytes(b"changed")
    send(portal, find_files([path]))
    portal.hydra.submissions.send("another", find_files([path]))
    first, again, changed, elsewhere = portal.keys
    assert first == again
    assert len({first, changed, elsewhere}) == 3


def test_a_refused_file_does_not_stop_the_others(tmp_path):
    def handle(request):
        return (
            refusal(413, "too_big", "Too big.")
            if b"b.png" in request.content
            else answer({"received": 1}, 201)
        )

    sent = send(Portal(handle), find_files([tree(tmp_path / "x", "a.png", "b.png", "c.png")]))
    assert {one.file.path.name: str(one.error or "") for one in sent} == {
        "a.png": "",
        "b.png": "Too big.",
        "c.png": "",
    }


def test_a_file_that_vanished_does_not_stop_the_others(tmp_path):
    files = find_files([tree(tmp_path / "x", "a.png", "b.png")])
    (tmp_path / "x" / "a.png").unlink()
    sent = send(Portal(lambda request: answer({"received": 1}, 201)), files)
    assert sorted(one.file.path.name for one in sent if one.error is None) == ["b.png"]


@pytest.mark.parametrize("all_of_them", [refusal(401, "unauthenticated"), refusal(409, "submission_closed")])
def test_what_hits_all_files_stops_the_upload(tmp_path, all_of_them):
    files = find_files([tree(tmp_path / "x", *(f"{n}.png" for n in range(50)))])
    portal = Portal(lambda request: all_of_them)
    with pytest.raises(errors.ApiError):
        send(portal, files, at_once=2)
    assert len(portal.requests) < 10


def test_few_files_are_open_at_a_time(tmp_path):
    files = find_files([tree(tmp_path / "x", *(f"{n:03}.png" for n in range(60)))])
    lock, here, most = threading.Lock(), 0, 0
    meet = threading.Barrier(3)

    def handle(request):
        nonlocal here, most
        with lock:
            here += 1
            most = max(most, here)
        meet.wait(timeout=10)
        with lock:
            here -= 1
        return answer({"received": 1}, 201)

    assert len(send(Portal(handle), files, at_once=3)) == 60
    assert most == 3
