"""Formats to items: judges what was uploaded before anything is unpacked, and decodes in a sandbox.

Doors (plain data in and out; storage and the database are the caller's):
  plan_upload(name, path, schema, limits) -> UploadPlan        archives, tables, single files; raises IntakeError
  read_entries(path, entries, limits) -> iterator of (Entry, bytes | Refusal)
  decode_images(batch, limits) -> list[DecodedImage | Refusal] through the sandbox, one answer per item
  safe_name(name) -> str                                       a name that is safe to show
  match_label(label, classes) -> LabelMatch
"""

from marketplace.intake.entry import (
    DecodedImage,
    DecodeLimits,
    Entry,
    LabelQuestion,
    Refusal,
    UploadLimits,
    UploadPlan,
    UploadSchema,
)
from marketplace.intake.errors import (
    ArchiveDamaged,
    ArchiveRefused,
    IntakeError,
    SandboxUnavailable,
    TableRefused,
    UploadRefused,
)
from marketplace.intake.labels import LabelMatch, match_label, normal_label
from marketplace.intake.names import safe_name
from marketplace.intake.records import content_sha256_row, content_sha256_text, row_entry, text_entry
from marketplace.intake.sandbox import Sandbox, close_shared, decode_images
from marketplace.intake.uploads import UploadOptions, plan_upload, read_entries

__all__ = [
    "ArchiveDamaged",
    "ArchiveRefused",
    "DecodeLimits",
    "DecodedImage",
    "Entry",
    "IntakeError",
    "LabelMatch",
    "LabelQuestion",
    "Refusal",
    "Sandbox",
    "SandboxUnavailable",
    "TableRefused",
    "UploadLimits",
    "UploadOptions",
    "UploadPlan",
    "UploadRefused",
    "UploadSchema",
    "close_shared",
    "content_sha256_row",
    "content_sha256_text",
    "decode_images",
    "match_label",
    "normal_label",
    "plan_upload",
    "read_entries",
    "row_entry",
    "safe_name",
    "text_entry",
]
