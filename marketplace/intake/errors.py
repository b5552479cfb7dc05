"""What intake says when a whole upload cannot be taken; one bad item among many is a Refusal instead.

IntakeError
├── UploadRefused        fix the input: the file is not what the campaign takes, or breaks a limit
│   ├── ArchiveRefused   fix the input: the archive's directory is hostile or over a limit
│   ├── ArchiveDamaged   fix the input: the archive contradicts itself; make it again
│   └── TableRefused     fix the input: no rows, a NUL byte, columns that are not there
└── SandboxUnavailable   try again: the decoding process cannot be started; no item is to blame
"""

from __future__ import annotations


class IntakeError(Exception):
    """`code` for machines, `message` what was wrong and what to do, `where` the place in the upload."""

    code = "intake_error"
    retry = False

    def __init__(self, message: str, *, where: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.code = code or type(self).code


class UploadRefused(IntakeError):
    code = "upload_refused"


class ArchiveRefused(UploadRefused):
    code = "archive_refused"


class ArchiveDamaged(UploadRefused):
    code = "archive_damaged"


class TableRefused(UploadRefused):
    code = "table_refused"


class SandboxUnavailable(IntakeError):
    code = "sandbox_unavailable"
    retry = True
