"""How each state is shown: words, an icon and a tone. One table, so that a state looks the same on every page."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class State:
    """`tone` is a CSS suffix: good, warn, bad, info, brand, accent, plain."""

    label: Any
    icon: str
    tone: str


_TABLE: dict[str, dict[str, State]] = {
    "item": {
        "pending": State(_("Pending"), "hourglass-split", "info"),
        "accepted": State(_("Accepted"), "check-circle", "good"),
        "duplicate": State(_("Duplicate"), "files", "warn"),
        "rejected": State(_("Rejected"), "x-circle", "bad"),
        "ignored": State(_("Ignored"), "slash-circle", "plain"),
        "review": State(_("Waiting for a moderator"), "person-check", "accent"),
        "budget": State(_("Waiting for budget"), "cash-coin", "warn"),
    },
    "submission": {
        "receiving": State(_("Receiving files"), "cloud-arrow-up", "info"),
        "queued": State(_("Waiting for validation"), "hourglass-split", "info"),
        "validating": State(_("Being validated"), "arrow-repeat", "accent"),
        "judged": State(_("Validated"), "check2-all", "good"),
    },
    "campaign": {
        "draft": State(_("Draft"), "pencil", "plain"),
        "open": State(_("Open"), "door-open", "good"),
        "closed": State(_("Closed"), "lock", "plain"),
    },
    "release": {
        "building": State(_("Being built"), "arrow-repeat", "accent"),
        "ready": State(_("Ready"), "check-circle", "good"),
        "failed": State(_("Failed"), "x-circle", "bad"),
    },
    "job": {
        "funding": State(_("Locking credits"), "lock", "info"),
        "ready": State(_("Waiting for volunteers"), "hourglass-split", "info"),
        "running": State(_("Training"), "activity", "accent"),
        "settling": State(_("Settling"), "arrow-repeat", "accent"),
        "completed": State(_("Completed"), "check-circle", "good"),
        "stopped": State(_("Stopped early"), "stop-circle", "warn"),
        "cancelled": State(_("Cancelled"), "slash-circle", "plain"),
        "failed": State(_("Failed"), "x-circle", "bad"),
    },
    "verdict": {
        "accepted": State(_("Accepted"), "check-circle", "good"),
        "rejected": State(_("Rejected"), "x-circle", "bad"),
        "duplicate": State(_("Duplicate"), "files", "warn"),
        "needs_review": State(_("Needs review"), "person-check", "accent"),
    },
    "evidence": {
        "ok": State(_("Good"), "check-circle", "good"),
        "suspect": State(_("Suspect"), "exclamation-triangle", "warn"),
        "bad": State(_("Bad"), "x-circle", "bad"),
        "not_enough_evidence": State(_("Not enough evidence"), "question-circle", "plain"),
    },
    "ledger": {
        "reserved": State(_("Reserved"), "bookmark", "info"),
        "batched": State(_("In the next batch"), "collection", "info"),
        "sent": State(_("Sent to the chain"), "send", "accent"),
        "settled": State(_("On chain"), "link-45deg", "good"),
        "confirmed": State(_("On chain"), "link-45deg", "good"),
        "cancelled": State(_("Cancelled"), "slash-circle", "plain"),
        "reverted": State(_("Reverted"), "arrow-counterclockwise", "bad"),
        "pending": State(_("Waiting for the chain"), "hourglass-split", "info"),
        "unlocking": State(_("Unlocking"), "unlock", "info"),
        "locked": State(_("Locked"), "lock", "accent"),
        "settling": State(_("Settling"), "arrow-repeat", "accent"),
        "released": State(_("Released"), "unlock", "plain"),
        "failed": State(_("Failed"), "x-circle", "bad"),
    },
    "peer": {
        "offline": State(_("Offline"), "moon", "plain"),
        "online": State(_("Online"), "broadcast", "good"),
        "idle": State(_("Idle"), "cup-hot", "info"),
        "waiting": State(_("Waiting"), "hourglass-split", "info"),
        "joining": State(_("Joining"), "box-arrow-in-right", "info"),
        "training": State(_("Training"), "activity", "accent"),
        "left": State(_("Left"), "box-arrow-right", "warn"),
        "lost": State(_("Lost"), "exclamation-triangle", "bad"),
    },
}


def state_of(kind: str, value: str) -> State:
    """Returns how to show `value`; an unknown one is shown by its own word, never hidden."""
    return _TABLE.get(kind, {}).get(value) or State(str(value).replace("_", " ") or "–", "dot", "plain")


ACCOUNTS: dict[str, Any] = {
    "pending": _("Earned, not final yet"),
    "available": _("Available tokens"),
    "unlocking": _("Being unlocked"),
    "credits": _("Credits"),
    "payable": _("Training pay, not final yet"),
}
