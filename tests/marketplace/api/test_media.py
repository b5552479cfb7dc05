"""Stored bytes are sent whole, in one range, or not at all; their type is fixed."""

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import Http404
from django.test import RequestFactory

from marketplace.api.media import CHUNK_BYTES, Stored, send

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def _open_connection():
    """Closing a response ends its request, which would end the test's own database connection."""
    request_finished.disconnect(close_old_connections)
    yield
    request_finished.connect(close_old_connections)


@pytest.fixture
def stored(db, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    key = default_storage.save("some.bin", ContentFile(CONTENT))
    return Stored(key, "application/octet-stream", "some.bin", "abc123")


def fetch(stored: Stored, **headers: str):
    return send(RequestFactory().get("/", headers=headers), stored)  # type: ignore[arg-type]


def status(stored: Stored, **headers: str) -> int:
    response = fetch(stored, **headers)
    response.close()
    return response.status_code


def body(response) -> bytes:
    content = b"".join(response.streaming_content)
    response.close()
    return content


def test_the_whole_file_comes_with_fixed_headers(stored):
    response = fetch(stored)
    assert response.status_code == 200
    assert body(response) == CONTENT
    assert response["Content-Length"] == str(len(CONTENT))
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == 'attachment; filename="some.bin"'
    assert response["ETag"] == '"abc123"'
    assert "sandbox" in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    "asked,first,last",
    [
        ("bytes=0-0", 0, 0),
        ("bytes=10-", 10, len(CONTENT) - 1),
        ("bytes=-5", len(CONTENT) - 5, len(CONTENT) - 1),
        (f"bytes=7-{CHUNK_BYTES + 9}", 7, CHUNK_BYTES + 9),
        ("bytes=5-99999999", 5, len(CONTENT) - 1),
    ],
)
def test_a_range_is_sent_as_asked(stored, asked, first, last):
    response = fetch(stored, Range=asked)
    assert response.status_code == 206
    assert response["Content-Range"] == f"bytes {first}-{last}/{len(CONTENT)}"
    assert body(response) == CONTENT[first : last + 1]


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "bytes=9-3", "bytes=-", "pieces=0-1", "bytes=x-"])
def test_what_is_no_single_range_gets_the_whole_file(stored, asked):
    response = fetch(stored, Range=asked)
    assert response.status_code == 200
    assert body(response) == CONTENT


@pytest.mark.parametrize("asked", [f"bytes={len(CONTENT)}-", "bytes=-0"])
def test_a_range_beyond_the_end_is_416(stored, asked):
    response = fetch(stored, Range=asked)
    assert response.status_code == 416
    assert response["Content-Range"] == f"bytes */{len(CONTENT)}"


def test_a_resumed_download_of_other_bytes_starts_over(stored):
    assert status(stored, Range="bytes=5-", **{"If-Range": '"abc123"'}) == 206
    assert status(stored, Range="bytes=5-", **{"If-Range": '"other"'}) == 200


def test_known_bytes_are_not_sent_again(stored):
    assert status(stored, **{"If-None-Match": '"abc123"'}) == 304
    assert status(stored, **{"If-None-Match": '"other"'}) == 200


@pytest.mark.parametrize("key", ["", "missing.bin"])
def test_a_file_that_is_not_there_is_404(stored, key):
    with pytest.raises(Http404):
        fetch(Stored(key, "image/png", "x.png"))
