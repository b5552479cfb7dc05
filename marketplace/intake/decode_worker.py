"""The sandboxed process: takes batches of files on stdin, gives one answer each on stdout, ends at EOF.

It limits itself before the first byte arrives: memory, no file growth, no new descriptors (so it can open
neither a file nor a socket), and processor time per item. Frames: 4-byte length, then content. Run by sandbox.py.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import sys
from typing import BinaryIO

from PIL import Image

from marketplace.intake.entry import DecodedImage, DecodeLimits, Refusal
from marketplace.intake.images import FORMATS, decode_image

LENGTH = struct.Struct("<I")
HELLO = b'{"ready":1}'


def main() -> None:
    limits = DecodeLimits(**json.loads(sys.argv[1]))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    _warm_up(limits)
    _confine(limits)
    _write(sink, HELLO)
    while (count := source.read(LENGTH.size)) != b"":
        items = [_read(source) for _ in range(LENGTH.unpack(count)[0])]
        for data in items:
            _allow_cpu(limits)
            _answer(sink, decode_image(data, limits))


def _warm_up(limits: DecodeLimits) -> None:
    """Loads every codec while files may still be opened."""
    Image.init()
    for name in FORMATS:
        out = io.BytesIO()
        Image.new("RGB", (2, 2)).save(out, name)
        decode_image(out.getvalue(), limits)
        decode_image(out.getvalue()[:-8], limits)
    decode_image(b"<svg", limits)


def _confine(limits: DecodeLimits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    os.nice(5)


def _allow_cpu(limits: DecodeLimits) -> None:
    """The limit is cumulative for a process, so it moves along before each item."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + limits.cpu_s
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _read(source: BinaryIO) -> bytes:
    return source.read(LENGTH.unpack(source.read(LENGTH.size))[0])


def _write(sink: BinaryIO, *frames: bytes) -> None:
    for frame in frames:
        sink.write(LENGTH.pack(len(frame)))
        sink.write(frame)
    sink.flush()


def _answer(sink: BinaryIO, result: DecodedImage | Refusal) -> None:
    """Two frames: what it is as JSON, and the PNG (empty for a refusal)."""
    if isinstance(result, Refusal):
        _write(sink, json.dumps({"code": result.code, "reason": result.reason}).encode(), b"")
        return
    head = {
        "width": result.width,
        "height": result.height,
        "channels": result.channels,
        "pixel_sha256": result.pixel_sha256,
        "source_format": result.source_format,
    }
    _write(sink, json.dumps(head).encode(), result.png)


if __name__ == "__main__":
    main()
