"""Small pictures and archives for the intake's tests, made in memory."""

import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def noise(width: int = 32, height: int = 32, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 255, (height, width), dtype=np.uint8))


def encoded(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png(seed: int = 0) -> bytes:
    return encoded(noise(seed=seed))


def zipped(path: Path, members: dict[str, bytes], **options) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def overlap_bomb(path: Path, size: int = 10_000_000, copies: int = 1_000) -> Path:
    """One member of zeros whose directory record is repeated; the end record is made to agree (S2)."""
    zipped(path, {"a.png": b"\0" * size})
    data = path.read_bytes()
    at = data.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<L", data, at + 16)[0]
    record = data[start:at] * copies
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, copies, copies, len(record), start, 0)
    path.write_bytes(data[:start] + record + end)
    return path


def lying_archive(path: Path, *, directory_too: bool) -> Path:
    """A stored member of 5,000 bytes whose headers say 50: in its own header alone, or in the directory as well."""
    body = zlib.compress(b"x" * 5_000)[2:-4]
    name = b"a.png"
    crc = zlib.crc32(b"x" * 5_000)
    local = (
        struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(body), 50, len(name), 0)
        + name
        + body
    )
    told = 50 if directory_too else 5_000
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, len(body), told, len(name), 0, 0, 0, 0, 0, 0
    )
    central += name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path
