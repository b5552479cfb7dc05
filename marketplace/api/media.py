"""Stored bytes out through a checked door: fixed content types, one byte range, nothing a browser would execute."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from django.core.files.storage import default_storage
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request

CHUNK_BYTES = 64 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True)
class Stored:
    """A file to send. `tag` is its SHA-256 where known: the ETag, so that a resumed download is of the same bytes."""

    key: str
    content_type: str
    filename: str
    tag: str = ""
    is_attachment: bool = True


def send(request: Request, stored: Stored) -> HttpResponseBase:
    """200, 206 for a satisfiable `Range`, 304 for a matching `If-None-Match`, 416 beyond the end.

    Raises: Http404 where the file is missing from storage.
    """
    if not stored.key or not default_storage.exists(stored.key):
        raise Http404
    etag = f'"{stored.tag}"' if stored.tag else ""
    if etag and etag in request.headers.get("If-None-Match", ""):
        return _headed(HttpResponse(status=304), stored, etag)
    size = default_storage.size(stored.key)
    span = _asked_span(request, size, etag)
    if span is None:
        response = _headed(HttpResponse(status=416), stored, etag)
        response["Content-Range"] = f"bytes */{size}"
        return response
    first, length = span
    window = Window(default_storage.open(stored.key, "rb"), first, length)
    partial = length != size
    response = StreamingHttpResponse(window, status=206 if partial else 200)
    response["Content-Length"] = str(length)
    if partial:
        response["Content-Range"] = f"bytes {first}-{first + length - 1}/{size}"
    return _headed(response, stored, etag)


def send_text(text: str, stored: Stored) -> HttpResponseBase:
    """Content that lies in the database, with the same headers as a file."""
    return _headed(HttpResponse(text.encode()), stored, "")


def _headed(response: HttpResponseBase, stored: Stored, etag: str) -> HttpResponseBase:
    response["Content-Type"] = stored.content_type
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Content-Disposition"] = (
        f'{"attachment" if stored.is_attachment else "inline"}; filename="{stored.filename}"'
    )
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    if etag:
        response["ETag"] = etag
    return response


def _asked_span(request: Request, size: int, etag: str) -> tuple[int, int] | None:
    """(first byte, length) to send, or None where the range starts beyond the end (RFC 9110 §14).

    Several ranges, other units, or an `If-Range` of another version: the whole file, as the RFC allows.
    """
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    condition = request.headers.get("If-Range")
    if match is None or match.groups() == ("", "") or (condition is not None and condition != etag):
        return 0, size
    low, high = match.groups()
    if not low:
        length = min(int(high), size)
        return (size - length, length) if length else None
    first, last = int(low), min(int(high), size - 1) if high else size - 1
    if high and int(high) < first:
        return 0, size
    return (first, last - first + 1) if first < size else None


class Window:
    """The bytes [first, first + length) of a file, read in chunks; closes the file with the response."""

    def __init__(self, file: IO[bytes], first: int, length: int) -> None:
        self._file, self._left = file, length
        file.seek(first)

    def __iter__(self) -> Iterator[bytes]:
        while self._left > 0 and (chunk := self._file.read(min(CHUNK_BYTES, self._left))):
            self._left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()
