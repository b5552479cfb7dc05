"""The marketplace's aggregates, one file each."""

from marketplace.models.account import MODERATORS, SPONSORS, ApiToken, User
from marketplace.models.campaign import Campaign, Modality
from marketplace.models.evidence import Evidence
from marketplace.models.item import Item
from marketplace.models.job import Job, JobMetric, JobRound
from marketplace.models.network import Backbone, EnrolmentCode, JobEarning, Peer, Progress
from marketplace.models.release import Release, ReleaseItem
from marketplace.models.submission import Submission
from marketplace.models.verdict import IdempotentRequest, Verdict

__all__ = [
    "MODERATORS", "SPONSORS", "ApiToken", "Backbone", "Campaign", "EnrolmentCode", "Evidence", "IdempotentRequest",
    "Item", "Job", "JobEarning", "JobMetric", "JobRound", "Modality", "Peer", "Progress", "Release",
    "ReleaseItem", "Submission", "User", "Verdict",
]  # fmt: skip
