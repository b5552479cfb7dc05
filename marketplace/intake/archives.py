"""Judges a zip archive from its own directory, before a byte is unpacked; then reads single members, bounded.

The standard library is not asked: zipfile of 3.11 and 3.12 opens overlap bombs without complaint. What a
member means (label, text, table) is left to uploads.py.
"""

from __future__ import annotations

import re
import stat
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from marketplace.intake.entry import MIB, Refusal, UploadLimits
from marketplace.intake.errors import ArchiveDamaged, ArchiveRefused
from marketplace.intake.names import place

# APPNOTE.TXT 6.3.10: 4.3.7 local header, 4.3.12 central header, 4.3.16 end record, 4.3.14-15 zip64.
END = struct.Struct("<4s4H2LH")
END64_LOCATOR = struct.Struct("<4sLQL")
END64 = struct.Struct("<4sQ2H2L4Q")
CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")
ENCRYPTED, DESCRIPTOR, UTF8 = 0x1, 0x8, 0x800
STORED, DEFLATED = 0, 8
BIG16, BIG32 = 0xFFFF, 0xFFFFFFFF
SYSTEM_NAMES = frozenset({".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini", ".localized", "icon\r"})
SYSTEM_FOLDERS = frozenset({"__macosx", ".spotlight-v100", ".trashes", ".fseventsd", "$recycle.bin"})
NESTED = (".zip", ".jar", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst", ".cab", ".iso")


@dataclass(frozen=True)
class Member:
    """One line of the archive's directory. Units: bytes. `refusal` is set where this member alone is refused."""

    index: int
    path: str
    offset: int
    packed: int
    size: int
    crc: int
    method: int
    flags: int
    mode: int
    is_system: bool = False
    refusal: str = ""


@dataclass(frozen=True)
class _Directory:
    start: int
    size: int
    count: int


def judge_archive(path: Path, limits: UploadLimits) -> list[Member]:
    """All file members of the archive (folders are left out), each with its own refusal where it has one.

    Raises: ArchiveDamaged where the archive contradicts itself, ArchiveRefused where its directory is hostile
    or over a limit. Nothing has been unpacked in either case.
    Cost: reads the directory and 30 bytes plus the name per member.
    """
    with path.open("rb") as file:
        total = file.seek(0, 2)
        directory = _find_directory(file, total)
        if directory.count > limits.entries:
            raise ArchiveRefused(
                f"The archive lists {directory.count} entries; the limit is {limits.entries}. Send it in parts.",
                code="too_many_entries",
            )
        members = _read_directory(file, directory)
        _refuse_overlaps(file, members, directory.start)
        _refuse_totals(members, limits)
    return [_judge_member(member, limits) for member in members if not _is_folder(member)]


def _damaged(detail: str, where: str = "") -> ArchiveDamaged:
    return ArchiveDamaged(
        f"The archive is damaged: {detail}. Make it again and send it once more.", where=where
    )


def _find_directory(file: BinaryIO, total: int) -> _Directory:
    tail_start = max(0, total - END.size - BIG16)
    file.seek(tail_start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < END.size:
        raise _damaged("its directory is missing, as when an upload is cut off")
    _, disk, first_disk, here, count, size, start, _ = END.unpack_from(tail, at)
    end_at = tail_start + at
    if count == BIG16 or size == BIG32 or start == BIG32:
        end_at, count, size, start = _find_directory64(file, end_at, (count, size, start))
    elif disk or first_disk or here != count:
        raise ArchiveRefused("The archive is split over several files. Send one whole archive.", code="split")
    if start + size != end_at:
        raise _damaged("its directory is not where its end record says")
    return _Directory(start, size, count)


def _find_directory64(file: BinaryIO, end_at: int, plain: tuple[int, int, int]) -> tuple[int, int, int, int]:
    if end_at < END64_LOCATOR.size:
        return (end_at, *plain)
    file.seek(end_at - END64_LOCATOR.size)
    mark, _, at, _ = END64_LOCATOR.unpack(file.read(END64_LOCATOR.size))
    if mark != b"PK\x06\x07":
        return (end_at, *plain)  # exactly 65,535 entries, without zip64
    file.seek(at)
    record = file.read(END64.size)
    if len(record) < END64.size or record[:4] != b"PK\x06\x06":
        raise _damaged("its 64-bit end record is missing")
    *_, count, size, start = END64.unpack(record)
    return at, count, size, start


def _read_directory(file: BinaryIO, directory: _Directory) -> list[Member]:
    file.seek(directory.start)
    data = file.read(directory.size)
    members: list[Member] = []
    at = 0
    while at < len(data):
        if len(data) - at < CENTRAL.size or data[at : at + 4] != b"PK\x01\x02":
            raise _damaged(f"entry {len(members) + 1} of its directory cannot be read")
        fields = CENTRAL.unpack_from(data, at)
        name_at = at + CENTRAL.size
        extra_at = name_at + fields[10]
        at = extra_at + fields[11] + fields[12]
        if at > len(data):
            raise _damaged(f"entry {len(members) + 1} of its directory is cut off")
        extra = data[extra_at : extra_at + fields[11]]
        members.append(_member(len(members), fields, data[name_at:extra_at], extra))
    if len(members) != directory.count:
        raise _damaged(f"it says it has {directory.count} entries and lists {len(members)}")
    return members


def _member(index: int, fields: tuple, raw_name: bytes, extra: bytes) -> Member:
    flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
    offset = fields[16]
    size, packed, offset = _zip64_values(extra, size, packed, offset)
    path = _decode_name(raw_name, flags)
    return Member(index, path, offset, packed, size, crc, method, flags, fields[15] >> 16)


def _zip64_values(extra: bytes, *values: int) -> list[int]:
    """Replaces each 0xFFFFFFFF by its 64-bit value from extra field 1, in the order size, packed, offset."""
    wide = b""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            wide = extra[at + 4 : at + 4 + length]
        at += 4 + length
    result = []
    for value in values:
        if value == BIG32 and len(wide) >= 8:
            (value,) = struct.unpack_from("<Q", wide)
            wide = wide[8:]
        result.append(value)
    return result


def _decode_name(raw: bytes, flags: int) -> str:
    """UTF-8 where it is valid (macOS writes it without the flag), else the IBM code page of the old format."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        if flags & UTF8:
            raise _damaged("a name in it is marked as UTF-8 and is not") from None
        name = raw.decode("cp437")
    return unicodedata.normalize("NFC", name)


def _refuse_overlaps(file: BinaryIO, members: list[Member], directory_start: int) -> None:
    """Each byte may belong to one member only: a bomb lists the same bytes a thousand times."""
    end = 0
    for member in sorted(members, key=lambda m: m.offset):
        if member.offset < end:
            raise ArchiveRefused(
                f"Entries of the archive share the same bytes (near “{place(member.path)}”): an archive bomb.",
                where=place(member.path),
                code="overlap",
            )
        end = _data_start(file, member) + member.packed
        if end > directory_start:
            raise _damaged(f"“{place(member.path)}” reaches into the directory", place(member.path))


def _data_start(file: BinaryIO, member: Member) -> int:
    """Where the member's bytes begin; the local header must tell the same story as the directory."""
    file.seek(member.offset)
    header = file.read(LOCAL.size)
    name = place(member.path)
    if len(header) < LOCAL.size or header[:4] != b"PK\x03\x04":
        raise _damaged(f"“{name}” is not where the directory says", name)
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = LOCAL.unpack(header)
    raw_name = file.read(name_length)
    if method != member.method or _decode_name(raw_name, flags) != member.path:
        raise _damaged(f"“{name}” has another name or packing in its own header", name)
    if not flags & DESCRIPTOR:
        told = (crc, packed, size)
        wide = BIG32 in (packed, size)
        if not wide and told != (member.crc, member.packed, member.size):
            raise _damaged(f"“{name}” has another size or checksum in its own header", name)
    return member.offset + LOCAL.size + name_length + extra_length


def _refuse_totals(members: list[Member], limits: UploadLimits) -> None:
    total = sum(member.size for member in members)
    if total > limits.total_bytes:
        raise ArchiveRefused(
            f"Unpacked, the archive would be {total / MIB:,.0f} MiB; the limit is {limits.total_bytes / MIB:,.0f} MiB.",
            code="too_large",
        )
    for member in members:
        if member.size > limits.ratio * member.packed + 1024:
            raise _damaged(f"“{place(member.path)}” claims a size that its packed bytes cannot hold")


def _is_folder(member: Member) -> bool:
    return member.path.endswith("/") or (member.path.endswith("\\") and member.size == 0)


def is_system_path(path: str) -> bool:
    """Files that macOS and Windows add by themselves."""
    parts = path.replace("\\", "/").split("/")
    name = parts[-1]
    folders = {part.lower() for part in parts[:-1]}
    return bool(folders & SYSTEM_FOLDERS) or name.lower() in SYSTEM_NAMES or name.startswith(("._", "~$"))


def _judge_member(member: Member, limits: UploadLimits) -> Member:
    refusal = _unsafe_path(member.path) or _unsafe_member(member, limits)
    system = not refusal and is_system_path(member.path)
    return Member(**{**member.__dict__, "is_system": system, "refusal": refusal})


def _unsafe_path(path: str) -> str:
    flat = path.replace("\\", "/")
    if "\0" in flat:
        return "its name holds a NUL byte"
    if re.match(r"^[A-Za-z]:", flat):
        return "its name is a Windows drive path; archive the folder itself, without drive letters"
    if flat.startswith("/"):
        return "its name is an absolute path; archive the folder itself"
    if ".." in flat.split("/"):
        return "its name climbs out of the archive with “..”"
    return ""


def _unsafe_member(member: Member, limits: UploadLimits) -> str:
    kind = stat.S_IFMT(member.mode)
    if kind == stat.S_IFLNK:
        return "it is a symbolic link; send the file itself"
    if kind not in (0, stat.S_IFREG):
        return "it is a device or a pipe, not a file"
    if member.flags & ENCRYPTED:
        return "it is encrypted; archive it without a password"
    if member.path.lower().endswith(NESTED):
        return "it is an archive inside the archive; unpack it first"
    if member.method not in (STORED, DEFLATED):
        return f"it is packed by method {member.method}; use ordinary zip (deflate)"
    if member.size > limits.file_bytes:
        return f"it is {member.size / MIB:,.1f} MiB; the limit for one file is {limits.file_bytes / MIB:,.0f} MiB"
    return ""


def read_members(path: Path, members: list[Member]) -> Iterator[tuple[Member, bytes | Refusal]]:
    """Unpacks the given members one after the other, never past the size the directory promised.

    A member whose bytes do not keep that promise is a Refusal for itself alone.
    """
    with path.open("rb") as file:
        for member in members:
            yield member, _read_member(file, member)


def _read_member(file: BinaryIO, member: Member) -> bytes | Refusal:
    if member.refusal:
        return Refusal("archive_member", f"Refused: {member.refusal}.")
    file.seek(_data_start(file, member))
    packed = file.read(member.packed)
    data: bytes | None = packed
    if member.method == DEFLATED:
        data = _inflate(packed, member.size)
    if data is None or len(data) != member.size or zlib.crc32(data) != member.crc:
        return Refusal(
            "archive_damaged",
            "Archive damaged: what is packed here is not what the archive's directory says. Make the archive again.",
        )
    return data


def _inflate(packed: bytes, size: int) -> bytes | None:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error:
        return None
    return data if unpacker.eof else None
