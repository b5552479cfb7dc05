"""From evidence to an outcome: what a campaign's policy says about an item, with its reasons in words.

A flag alone never rejects: only technically bad items are refused without a person, and only where the
policy leaves that on. Suspicion goes to a person. What counts as bad or suspect was decided by the validators.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BUDGET_EXHAUSTED = "Good enough to accept, but the campaign's budget is exhausted: waiting for the sponsor."

# Each with its reason. Shares and limits are the sponsor's to change; the names are part of the public API.
POLICY_DEFAULTS: dict[str, Any] = {
    "reject_bad_technical": True,  # an unreadable or empty thing is not worth a person's minute
    "review_suspect_labels": True,  # label flags are 30-90 % right (data.md §4): a person decides
    "near_duplicates": "review",  # or "duplicate": whether what is near, but not the same, needs a person
    "cold_start": "accept",  # or "review": what to do while there is too little to check labels against
    "cold_start_limit": 500,  # accepted unchecked at most; beyond it people look
    "doubt_margin": 0.1,  # how far a submission's implausible share must surely exceed the usual one, to be reviewed whole
    "copied_rows_share": 0.5,  # tabular: more rows than this already present makes the submission a copy
    "scarcity_strength": 0.5,  # factor from 1 - s to 1 + s
    "scarcity_items_min": 20,  # no scarcity before this many accepted items carry the attribute
    "reward_max_factor": 2.0,  # cap on quality × novelty × scarcity
}
_CHOICES = {"near_duplicates": ("duplicate", "review"), "cold_start": ("accept", "review")}
_RANGES = {
    "cold_start_limit": (0, 10**9),
    "doubt_margin": (0.0, 1.0),
    "copied_rows_share": (0.0, 1.0),
    "scarcity_strength": (0.0, 1.0),
    "scarcity_items_min": (1, 10**9),
    "reward_max_factor": (0.1, 10.0),
}


DECODING = "decoding"  # the check that an item fails which cannot be read at all: there is nothing for a person to see
RECEIPT = "reward"  # the validator's name of the evidence row that explains a reward


class PolicyError(ValueError):
    """`faults` maps each setting to what it must be: fix the input."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__("; ".join(f"{name}: {message}" for name, message in faults.items()))


def check_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The settings a sponsor gave, checked; what is absent stays absent. Raises: PolicyError."""
    faults: dict[str, str] = {}
    for name, value in policy.items():
        if name not in POLICY_DEFAULTS:
            faults[name] = f"unknown; known are {', '.join(POLICY_DEFAULTS)}"
        elif message := _fault_of(name, value):
            faults[name] = message
    if faults:
        raise PolicyError(faults)
    return dict(policy)


def _fault_of(name: str, value: object) -> str:
    default = POLICY_DEFAULTS[name]
    if name in _CHOICES:
        return "" if value in _CHOICES[name] else f"one of {', '.join(_CHOICES[name])}"
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "true or false"
    low, high = _RANGES[name]
    whole = isinstance(default, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return "a whole number" if whole else "a number"
    return "" if math.isfinite(value) and low <= value <= high else f"from {low:g} to {high:g}"


def fill_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy in force: defaults where the sponsor said nothing."""
    return {**POLICY_DEFAULTS, **policy}


@dataclass(frozen=True)
class Sign:
    """What one validator said of an item, without its numbers. `check` is technical, duplicates, labels, safety …"""

    check: str
    outcome: str  # ok | suspect | bad | not_enough_evidence
    reasons: tuple[str, ...] = ()
    exact: bool = False  # duplicates: the same content, not merely near


def check_of(validator: str) -> str:
    """ "technical_image" and "technical_text" are one check to a policy."""
    return validator.partition("_")[0]


@dataclass(frozen=True)
class Admission:
    """`outcome` is accepted, duplicate, rejected or needs_review; `reason` reads as one sentence or a few."""

    outcome: str
    reason: str


@dataclass(frozen=True)
class Context:
    """What is known beyond the item: is its whole submission in doubt, may unchecked labels still be accepted."""

    policy: Mapping[str, Any]
    submission_in_doubt: str = ""
    cold_start_open: bool = True


def admit(signs: Iterable[Sign], context: Context) -> Admission:
    """The policy's outcome for one item. First match: unreadable, duplicate, technically bad, anything for a
    person, accept."""
    found = {sign.check: sign for sign in signs}
    if (unreadable := found.get(DECODING)) is not None:
        return Admission("rejected", _say(unreadable, "It could not be decoded."))
    twin, technical = found.get("duplicates"), found.get("technical")
    if twin is not None and _is_duplicate(twin, context.policy):
        return Admission("duplicate", _say(twin, "Already received."))
    if technical is not None and technical.outcome == "bad" and context.policy["reject_bad_technical"]:
        return Admission("rejected", _say(technical, "Not usable as it is."))
    if doubts := _doubts(found, context):
        return Admission("needs_review", " ".join(doubts)[:500])
    return Admission("accepted", _say_accepted(found))


def _is_duplicate(twin: Sign, policy: Mapping[str, Any]) -> bool:
    """The same content always; what is merely near as the sponsor wishes, else a person compares the two."""
    near = twin.outcome in {"suspect", "bad"}
    return near and (twin.exact or policy["near_duplicates"] == "duplicate")


def is_unchecked(signs: Iterable[Sign]) -> bool:
    """Whether nothing could be said about the label."""
    labels = [sign for sign in signs if sign.check == "labels"]
    return not labels or labels[-1].outcome == "not_enough_evidence"


def _doubts(found: Mapping[str, Sign], context: Context) -> list[str]:
    policy, doubts = context.policy, []
    if (
        history := found.get("history")
    ) is not None:  # first: the queue knows such items by how their reason begins
        doubts.append(_say(history, "It was rejected before."))
    if context.submission_in_doubt:
        doubts.append(context.submission_in_doubt)
    for name, sign in sorted(found.items()):
        if name == "history":
            continue
        if sign.outcome == "bad":  # technical, with rejection off; near duplicates, for review; labels always
            doubts.append(_say(sign, f"The {name} check failed."))
        elif sign.outcome == "suspect" and _is_reviewed(name, policy):
            doubts.append(_say(sign, f"The {name} check is in doubt."))
    if is_unchecked(found.values()) and (policy["cold_start"] == "review" or not context.cold_start_open):
        doubts.append("There is too little evidence to check this label.")
    return doubts


def _is_reviewed(check: str, policy: Mapping[str, Any]) -> bool:
    """A technical suspicion lowers the quality, and with it the reward; the others need a person."""
    if check == "technical":
        return False
    return check != "labels" or bool(policy["review_suspect_labels"])


def _say(sign: Sign, otherwise: str) -> str:
    return " ".join(sign.reasons)[:500] or otherwise


def _say_accepted(found: Mapping[str, Sign]) -> str:
    if is_unchecked(found.values()):
        return "Passed the checks; there was not enough evidence to check the label."
    return "Passed the checks."


def doubt_submission(outcome: str, data: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    """Why a whole submission needs a person, or "" where its share of implausible labels is ordinary.

    `outcome` and `data` are of the label check's finding about the submission: `share` with its 95 % `interval`, and
    `among_accepted`, the share that accepted items show by the same measure. A difference that is merely certain is
    not enough; it must be surely larger than the policy's margin.
    """
    if outcome not in {"suspect", "bad"}:
        return ""
    usual, surely = float(data["among_accepted"]), float(data["interval"][0])
    if surely - usual <= policy["doubt_margin"]:
        return ""
    return (
        f"{data['implausible']} of {data['items']} labels of this submission ({data['share']:.0%}) look implausible, "
        f"where {usual:.0%} is usual, so all of it waits for a person."
    )
