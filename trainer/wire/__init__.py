"""What peers say to each other and to the market: messages, their canonical encoding, signatures, the sampler.

Pure: no torch, no sockets, no clock. The market imports this package to verify what it is paid on.
"""

from trainer.wire.canonical import canonical_json, digest_of
from trainer.wire.records import Attestation, MemberRecord, RoundRecord, verify_record
from trainer.wire.sampling import batch_indices, share_indices
from trainer.wire.signing import peer_id_of, sign, verify

__all__ = [
    "Attestation",
    "MemberRecord",
    "RoundRecord",
    "batch_indices",
    "canonical_json",
    "digest_of",
    "peer_id_of",
    "share_indices",
    "sign",
    "verify",
    "verify_record",
]
