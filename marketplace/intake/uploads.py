"""The door for whole uploads: what format it is, what is in it, and every part accounted for.

Parsing is archives.py's and records.py's; storing, hashing and deciding are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from marketplace.intake.archives import Member, is_system_path, judge_archive, read_members
from marketplace.intake.encodings import decode
from marketplace.intake.entry import (
    MIB,
    UPLOAD_LIMITS,
    Entry,
    Refusal,
    UploadLimits,
    UploadPlan,
    UploadSchema,
)
from marketplace.intake.errors import TableRefused, UploadRefused
from marketplace.intake.labels import match_label
from marketplace.intake.names import place, safe_name
from marketplace.intake.records import LabelDesk, refuse_text, table_entries
from marketplace.intake.tables import Table, parse_csv, parse_jsonl

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
LABEL_TABLES = ("labels.csv", "metadata.csv")
FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file; save the sheet as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; send a zip"),
    (b"Rar!", "a RAR archive; send a zip"),
    (b"\x1f\x8b", "a gzip file; unpack it, or send a zip"),
    (b"%PDF-", "a PDF document"),
)


@dataclass(frozen=True)
class UploadOptions:
    """What the sender said beside the file. `label` counts where no folder or table names a class.

    `answers`: received label → class, the replies to UploadPlan.questions.
    """

    encoding: str = ""
    delimiter: str = ""
    label: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)


PLAIN = UploadOptions()


@dataclass(frozen=True)
class _Job:
    name: str
    path: Path
    schema: UploadSchema
    limits: UploadLimits
    options: UploadOptions
    desk: LabelDesk


def plan_upload(
    name: str,
    path: Path,
    schema: UploadSchema,
    limits: UploadLimits = UPLOAD_LIMITS,
    options: UploadOptions = PLAIN,
) -> UploadPlan:
    """Accounts for everything in an upload without decoding one image.

    Returns: a plan whose entries are all that was received; empty folders do not count.
    Raises: UploadRefused and its kinds when the upload as a whole cannot be taken.
    """
    job = _Job(safe_name(name), path, schema, limits, options, LabelDesk(schema.classes, options.answers))
    if is_system_path(name):
        return UploadPlan(_format_of(schema), (_ignore(Entry(job.name, size=path.stat().st_size)),))
    with path.open("rb") as file:
        head = file.read(4096)
    plan = _plan_zip(job) if head[:4] in (b"PK\x03\x04", b"PK\x05\x06") else _plan_file(job, head)
    if not plan.entries:
        raise UploadRefused("There are no files in the upload.", code="empty")
    return replace(plan, notices=plan.notices + job.desk.notices(), questions=job.desk.questions())


def _plan_file(job: _Job, head: bytes) -> UploadPlan:
    size = job.path.stat().st_size
    if size == 0:
        raise UploadRefused(f"“{place(job.name)}” is empty (0 bytes).", code="empty")
    for magic, what in FOREIGN:
        if head.startswith(magic):
            raise UploadRefused(f"“{place(job.name)}” is {what}.", code="foreign_format")
    if job.schema.modality == "image":
        return UploadPlan("image", (_single_image(job, size),))
    if size > job.limits.table_bytes:
        raise UploadRefused(
            f"The file is {size / MIB:,.0f} MiB; the limit for a table is {job.limits.table_bytes / MIB:,.0f} MiB.",
            code="too_large",
        )
    data = job.path.read_bytes()
    if job.schema.modality == "text" and job.name.lower().endswith((".txt", ".eml", ".md")):
        return UploadPlan("text", (_text_file_entry(job, Entry(job.name, size=size), data, folders=()),))
    return _plan_table(job, job.name, data)


def _plan_table(job: _Job, name: str, data: bytes) -> UploadPlan:
    table = _parse(job, name, data)
    entries = table_entries(table, job.schema, job.desk, job.limits, name=name)
    entries = [replace(e, attributes={**job.options.attributes, **e.attributes}) for e in entries]
    kind = "csv" if table.delimiter else "jsonl"
    return UploadPlan(kind, tuple(entries), table.encoding, table.delimiter, table.columns)  # type: ignore[arg-type]


def _parse(job: _Job, name: str, data: bytes) -> Table:
    options, schema = job.options, job.schema
    looks_json = data.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")
    if name.lower().endswith((".jsonl", ".ndjson", ".json")) or (
        looks_json and not name.lower().endswith(".csv")
    ):
        return parse_jsonl(data, job.limits, encoding=options.encoding)
    expected = [schema.text_column] if schema.modality == "text" else [str(c["name"]) for c in schema.columns]
    return parse_csv(
        data,
        [*expected, schema.label_column, *schema.attributes],
        job.limits,
        encoding=options.encoding,
        delimiter=options.delimiter,
    )


def _single_image(job: _Job, size: int) -> Entry:
    entry = Entry(job.name, size=size, attributes=dict(job.options.attributes))
    if size > job.limits.file_bytes:
        return _refuse(
            entry, f"the file is {size / MIB:,.1f} MiB; the limit is {job.limits.file_bytes / MIB:,.0f} MiB"
        )
    return _labelled(job, entry, folders=())


def _labelled(job: _Job, entry: Entry, folders: tuple[str, ...]) -> Entry:
    """The innermost folder that is a class, else the label given with the upload, else the nearest folder."""
    for folder in reversed(folders):
        if match_label(job.options.answers.get(folder, folder), job.desk.classes).kind in (
            "same",
            "normalised",
        ):
            return replace(entry, label=job.desk.settle(folder)[0])
    received = job.options.label or (folders[-1] if folders else "")
    if not received:
        return _refuse(
            entry, "it has no label: put it into a folder named after its class, or give a label with it"
        )
    label, refusal = job.desk.settle(received)
    return _refuse(entry, refusal) if refusal else replace(entry, label=label)


def _refuse(entry: Entry, refusal: str) -> Entry:
    return replace(entry, kind="refused", reason=f"{refusal[0].upper()}{refusal[1:]}.")


def _ignore(entry: Entry) -> Entry:
    return replace(entry, kind="ignored", reason="A system file of macOS or Windows, not data.")


def _format_of(schema: UploadSchema) -> Literal["image", "text", "csv"]:
    """What a single file of the campaign would be."""
    return "csv" if schema.modality == "tabular" else schema.modality


def _plan_zip(job: _Job) -> UploadPlan:
    members = judge_archive(job.path, job.limits)
    if any(m.path == "[Content_Types].xml" for m in members):
        raise UploadRefused(
            f"“{place(job.name)}” is an Office document; save the sheet as CSV.", code="foreign_format"
        )
    if job.schema.modality == "image":
        return UploadPlan("zip", tuple(_image_members(job, members)))
    total = sum(member.size for member in members)
    if total > job.limits.table_bytes:
        raise UploadRefused(
            f"Unpacked, the texts are {total / MIB:,.0f} MiB; the limit is {job.limits.table_bytes / MIB:,.0f} MiB.",
            code="too_large",
        )
    entries: list[Entry] = []
    for member in members:
        entries.extend(_content_member(job, member))
    return UploadPlan("zip", tuple(entries))


def _member_entry(job: _Job, member: Member) -> Entry:
    name = safe_name(member.path)
    entry = Entry(name, locator=name, size=member.size, member=member.index)
    entry = replace(entry, attributes=dict(job.options.attributes))
    if member.refusal:
        return _refuse(entry, member.refusal)
    if member.is_system:
        return _ignore(entry)
    return entry


def _folders(member: Member) -> tuple[str, ...]:
    return tuple(part for part in member.path.replace("\\", "/").split("/")[:-1] if part)


def _image_members(job: _Job, members: list[Member]) -> Iterator[Entry]:
    table = _label_table(job, members)
    for member in members:
        entry = _member_entry(job, member)
        base = member.path.replace("\\", "/").split("/")[-1]
        if entry.kind != "data":
            yield entry
        elif base.lower() in LABEL_TABLES and table is not None:
            yield replace(entry, kind="ignored", reason="The table of labels: read, not an item itself.")
        else:
            cells = (table or {}).get(member.path) or (table or {}).get(base)
            yield _tabled(job, entry, cells) if cells else _labelled(job, entry, _folders(member))


def _label_table(job: _Job, members: list[Member]) -> dict[str, Mapping[str, str]] | None:
    """labels.csv in the archive: columns file, label and declared attributes, by file path or base name."""
    found = [
        m for m in members if m.path.split("/")[-1].lower() in LABEL_TABLES and not (m.refusal or m.is_system)
    ]
    if not found:
        return None
    _, data = next(read_members(job.path, found[:1]))
    if isinstance(data, Refusal):
        raise TableRefused(f"{found[0].path}: {data.reason}")
    table = parse_csv(data, ["file", job.schema.label_column], job.limits, encoding=job.options.encoding)
    if "file" not in table.columns:
        raise TableRefused(
            "labels.csv needs a column “file” with each image's name in the archive.", where="line 1"
        )
    return {str(record.cells.get("file", "")): record.cells for record in table.records}


def _tabled(job: _Job, entry: Entry, cells: Mapping[str, str]) -> Entry:
    groups = {name: cells[name].strip() for name in job.schema.attributes if cells.get(name, "").strip()}
    entry = replace(entry, attributes={**entry.attributes, **groups})
    received = cells.get(job.schema.label_column, "")
    if not received.strip():
        return _refuse(entry, "it has no label in the archive's table of labels")
    label, refusal = job.desk.settle(received)
    return _refuse(entry, refusal) if refusal else replace(entry, label=label)


def _content_member(job: _Job, member: Member) -> list[Entry]:
    """A member of a text or tabular archive: a table gives its rows, a text file itself."""
    entry = _member_entry(job, member)
    if entry.kind != "data":
        return [entry]
    _, data = next(read_members(job.path, [member]))
    if isinstance(data, Refusal):
        return [replace(entry, kind="refused", reason=data.reason)]
    if member.path.lower().endswith(TABLES):
        try:
            return list(_plan_table(job, entry.name, data).entries)
        except TableRefused as error:
            return [replace(entry, kind="refused", reason=error.message)]
    if job.schema.modality == "text":
        return [_text_file_entry(job, entry, data, _folders(member))]
    return [_refuse(entry, "it is not a table (CSV or JSON Lines)")]


def _text_file_entry(job: _Job, entry: Entry, data: bytes, folders: tuple[str, ...]) -> Entry:
    try:
        text, _ = decode(data, job.options.encoding)
    except TableRefused as error:
        return replace(entry, kind="refused", reason=error.message)
    refusal = refuse_text(text, job.limits)
    if refusal:
        return _refuse(entry, refusal)
    entry = replace(entry, attributes={**job.options.attributes, **entry.attributes})
    return _labelled(job, replace(entry, text=text), folders)


def read_entries(
    path: Path,
    entries: Iterable[Entry],
    limits: UploadLimits = UPLOAD_LIMITS,
) -> Iterator[tuple[Entry, bytes | Refusal]]:
    """The bytes of each data entry, in order, one in memory at a time; a damaged member costs its own item."""
    wanted = [entry for entry in entries if entry.kind == "data"]
    if all(entry.member is None for entry in wanted):
        for entry in wanted:
            yield entry, path.read_bytes()
        return
    members = {member.index: member for member in judge_archive(path, limits)}
    packed = [entry for entry in wanted if entry.member is not None]
    contents = read_members(path, [members[entry.member] for entry in packed if entry.member is not None])
    for entry, (_, data) in zip(packed, contents, strict=True):
        yield entry, data
