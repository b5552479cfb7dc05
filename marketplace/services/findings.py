"""Findings of validators as Evidence rows, and back: the digest is over what a stranger can recompute."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from marketplace.models import Campaign, Evidence, Item, Submission
from marketplace.models.writing import new_row
from marketplace.rules.admission import Sign, check_of
from marketplace.rules.evidence import Statement, canonical_json
from marketplace.validators.finding import Finding


def evidence_row(
    subject: Item | Submission | Campaign, finding: Finding, *, input_sha256: str = ""
) -> Evidence:
    """An unsaved row for the finding about something saved, with the digest of its canonical JSON."""
    kind = type(subject).__name__.lower()
    statement = Statement(
        subject=f"{kind}:{subject.public_id}",
        validator=finding.validator,
        version=finding.version,
        seed=finding.seed,
        outcome=finding.outcome,
        score=finding.score,
        direction=finding.direction,
        reasons=tuple(finding.reasons),
        data=finding.data,
        input_sha256=input_sha256,
    )
    content = statement.as_json()
    digest = sha256(canonical_json(content)).hexdigest()
    del content["subject"]
    return new_row(Evidence, {**content, f"{kind}_id": subject.pk, "digest": digest})


def statement_of(evidence: Evidence, subject: str) -> Statement:
    """What the row's digest was taken over: for export, and for whoever checks that nothing was changed since."""
    return Statement(
        subject=subject,
        validator=evidence.validator,
        version=evidence.version,
        seed=evidence.seed,
        outcome=evidence.outcome,
        score=evidence.score,
        direction=evidence.direction,
        reasons=tuple(evidence.reasons),
        data=evidence.data,
        input_sha256=evidence.input_sha256,
    )


def signs_of(evidence: Iterable[Evidence]) -> list[Sign]:
    """What a policy looks at. Where a check was made twice the newer row, which comes later, counts."""
    return [
        Sign(check_of(one.validator), one.outcome, tuple(one.reasons), exact=_is_exact(one.data))
        for one in evidence
    ]


def _is_exact(data: Mapping[str, Any]) -> bool:
    return data.get("kind") in {"exact", "content"}


def score_of(evidence: Iterable[Evidence], check: str) -> float | None:
    """The newest score of a check, None where there is none."""
    scores = [one.score for one in evidence if check_of(one.validator) == check]
    return scores[-1] if scores else None


def novelty_of(evidence: Iterable[Evidence]) -> float | None:
    found = [one for one in evidence if one.validator == "duplicates"]
    if not found:
        return None
    novelty = found[-1].data.get("novelty", found[-1].score)
    return None if novelty is None else float(novelty)
