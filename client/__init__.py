"""The SDK: everything the portal's pages do, over its public API.

    from client import Hydra
    with Hydra("http://localhost:8000", token) as hydra:
        campaign = hydra.campaigns.show("digits")
        submission = hydra.submissions.start("digits", campaign["consent_version"])
        hydra.submissions.send(submission["id"], find_files([Path("digits/")]))
        hydra.submissions.complete(submission["id"])

Answers are the API's JSON objects as dictionaries; amounts are {"nano": int, "hyd": "1.25"}. Errors: client.errors.
"""

from client.errors import (
    ApiError,
    ConfigurationError,
    Conflict,
    CorruptDownload,
    Forbidden,
    HydraError,
    InvalidRequest,
    NotFound,
    ServerError,
    Throttled,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
)
from client.hydra import Hydra
from client.money import to_hyd, to_nano
from client.transport import Patience
from client.uploads import Sent, Terms, UploadFile, find_files

__all__ = [
    "ApiError",
    "ConfigurationError",
    "Conflict",
    "CorruptDownload",
    "Forbidden",
    "Hydra",
    "HydraError",
    "InvalidRequest",
    "NotFound",
    "Patience",
    "Sent",
    "ServerError",
    "Terms",
    "Throttled",
    "Unauthenticated",
    "UnexpectedAnswer",
    "Unreachable",
    "UploadFile",
    "find_files",
    "to_hyd",
    "to_nano",
]
