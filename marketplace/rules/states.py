"""Which changes of state are allowed, and who may judge: one table each, so that a reader can check them."""

from collections.abc import Mapping

CAMPAIGN: Mapping[str, frozenset[str]] = {
    "draft": frozenset({"open"}),
    "open": frozenset({"closed"}),
    "closed": frozenset({"open"}),  # a sponsor who funds it again may go on
}
SUBMISSION: Mapping[str, frozenset[str]] = {
    "receiving": frozenset({"queued"}),
    "queued": frozenset({"validating"}),
    "validating": frozenset({"judged", "queued"}),  # queued again when its worker died
    "judged": frozenset(),
}
ITEM: Mapping[str, frozenset[str]] = {
    "pending": frozenset({"accepted", "duplicate", "rejected"}),
    "accepted": frozenset({"rejected"}),  # won back: the reward is cancelled or offset
    "rejected": frozenset({"accepted"}),  # overturned
    "duplicate": frozenset({"accepted"}),  # a person says that it is another thing after all
    "ignored": frozenset(),
}
JOB: Mapping[str, frozenset[str]] = {
    "funding": frozenset({"ready", "settling", "failed"}),
    "ready": frozenset(
        {"running", "settling", "funding", "failed"}
    ),  # funding again: its block was reorganised away
    "running": frozenset({"settling"}),
    "settling": frozenset({"completed", "stopped", "failed", "cancelled"}),
    "completed": frozenset(),
    "stopped": frozenset(),
    "cancelled": frozenset(),
    "failed": frozenset(),
}
RELEASE: Mapping[str, frozenset[str]] = {
    "building": frozenset({"ready", "failed"}),
    "ready": frozenset(),
    "failed": frozenset(),
}


def may_follow(table: Mapping[str, frozenset[str]], old: str, new: str) -> bool:
    return new in table.get(old, frozenset())


def sources_of(table: Mapping[str, frozenset[str]], new: str) -> list[str]:
    """The states from which `new` may be reached: what a compare-and-set filters on."""
    return [old for old, following in table.items() if new in following]


def why_not_judge(*, is_moderator: bool, is_contributor: bool) -> str:
    """Why this person may not judge the item, or "" where they may. Nobody judges their own items."""
    if not is_moderator:
        return "Only moderators judge items."
    if is_contributor:
        return "You contributed this item; another moderator has to judge it."
    return ""
