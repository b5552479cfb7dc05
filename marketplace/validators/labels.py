"""Label plausibility: how well each label fits what accepted items of that class look like.

The model is fitted on accepted items only, so that a batch that is wrong throughout cannot vouch for itself.
A flag is a reason for a second look, never for a rejection: on ambiguous data a third of the flags are right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marketplace.validators.finding import BAD, SUSPECT, Finding, ValidatorInfo
from marketplace.validators.intervals import binomial_tail, wilson
from marketplace.validators.label_model import Judgement, Knowledge, cross_validated, learn

VALIDATOR = ValidatorInfo("labels", "1", seed=17)
MIN_TRUSTED = 40  # accepted items: below it a 5-fold model is guesswork
MIN_PER_CLASS = 5  # one for each fold
MAX_TRUSTED = 4_000  # more sharpens little and costs linearly
HONEST_FLAGS = 0.05  # share of accepted items that would be flagged by the same rule
MIN_SUBMISSION = 8  # items: below it no share has a useful interval
SURE = 1e-3  # chance that honest items would show as many implausible labels


@dataclass(frozen=True)
class LabelledSet:
    """Shapes: features (n, d), dense or sparse; labels n names of classes."""

    features: NDArray[np.float32] | sparse.csr_matrix
    labels: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class LabelReport:
    """One finding per item of the batch, in order, and one about the submission as a whole."""

    items: list[Finding]
    submission: Finding
    basis: dict[str, Any] = field(default_factory=dict)


def check(
    batch: LabelledSet, trusted: LabelledSet | None, *, features_name: str = "", seed: int = VALIDATOR.seed
) -> LabelReport:
    """Scores the batch's labels against the accepted items; falls back to the batch itself for a ranking.

    Returns: suspect items carry the more likely class and the measured probabilities in words. Score: 1 for what
    nine accepted items in ten are like, towards 0 the less plausible; `data.margin` ranks below that.
    Cost: 6 fits of a logistic regression on at most MAX_TRUSTED accepted items.
    """
    if not len(batch):
        return LabelReport([], VALIDATOR.unknown("The submission has no items."))
    known = _usable(trusted, seed)
    if known is None:
        return _without_trust(batch, seed, features_name)
    knowledge = learn(known.features, known.labels, HONEST_FLAGS, seed)
    judgements = knowledge.judge(batch.features, batch.labels)
    basis = {"accepted": len(known), "features": features_name, "honest_flag_rate": HONEST_FLAGS}
    counts = Counter(known.labels)
    items = [_item(j, label, counts, basis) for j, label in zip(judgements, batch.labels, strict=True)]
    return LabelReport(items, _submission(judgements, knowledge, basis), basis)


def _usable(trusted: LabelledSet | None, seed: int) -> LabelledSet | None:
    """Accepted items of the classes that have enough of them; None where two such classes are not found."""
    if trusted is None or len(trusted) < MIN_TRUSTED:
        return None
    counts = Counter(trusted.labels)
    chosen = np.array([i for i, label in enumerate(trusted.labels) if counts[label] >= MIN_PER_CLASS])
    if len({trusted.labels[i] for i in chosen}) < 2 or len(chosen) < MIN_TRUSTED:
        return None
    if len(chosen) > MAX_TRUSTED:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, MAX_TRUSTED, replace=False))
    return LabelledSet(trusted.features[chosen], [trusted.labels[i] for i in chosen])


def _item(judgement: Judgement | None, label: str, counts: Counter[str], basis: dict[str, Any]) -> Finding:
    compared = "accepted items" if basis["accepted"] else "items compared"
    if judgement is None:
        source = "accepted items" if basis["accepted"] else "items of this submission"
        words = (
            f"The class “{label}” has {counts[label]} {source} to compare with; {MIN_PER_CLASS} are needed."
        )
        return VALIDATOR.unknown(words, data=basis)
    data = {
        **basis,
        "p_label": round(judgement.p_label, 4),
        "likely": judgement.likely,
        "p_likely": round(judgement.p_likely, 4),
        "margin": round(judgement.margin, 4),
        "rank": round(judgement.rank, 4),
    }
    score = min(1.0, judgement.rank / 0.1)
    if not judgement.flagged:
        return VALIDATOR.ok(score, data=data)
    return VALIDATOR.finding(SUSPECT, min(score, 0.3), judgement.words(label, compared), data=data)


def _submission(
    judgements: Sequence[Judgement | None], knowledge: Knowledge, basis: dict[str, Any]
) -> Finding:
    """Does the share of labels that the model disagrees with exceed what accepted items show?

    One flipped row in a table proves nothing; 150 of them do. Interval: Wilson, 95 %.
    """
    judged = [j for j in judgements if j is not None]
    if len(judged) < MIN_SUBMISSION:
        words = (
            f"{len(judged)} items of the submission can be compared; {MIN_SUBMISSION} are needed for a share."
        )
        return VALIDATOR.unknown(words, data=basis)
    wrong = sum(j.disagrees for j in judged)
    low, high = wilson(wrong, len(judged))
    base, base_high = (
        knowledge.disagreement,
        wilson(round(knowledge.disagreement * knowledge.count), knowledge.count)[1],
    )
    chance = binomial_tail(wrong, len(judged), base_high)
    data = {
        **basis,
        "items": len(judged),
        "implausible": wrong,
        "share": round(wrong / len(judged), 4),
        "interval": [round(low, 4), round(high, 4)],
        "among_accepted": round(base, 4),
        "chance": float(f"{chance:.3g}"),
    }
    words = (
        f"{wrong} of {len(judged)} labels ({wrong / len(judged):.0%}, interval {low:.0%} to {high:.0%}) are not the most "
        f"likely class; among accepted items it is {base:.0%}."
    )
    if chance > SURE:
        return VALIDATOR.ok(1.0 - max(0.0, low - base_high), words, data=data)
    return VALIDATOR.finding(BAD if low > 0.5 else SUSPECT, 0.5 * (1 - low), words, data=data)


def _without_trust(batch: LabelledSet, seed: int, features_name: str) -> LabelReport:
    """Too few accepted items: a ranking within the batch where it can be had, and no word on the whole of it."""
    why = f"Fewer than {MIN_TRUSTED} accepted items in at least two classes to compare with"
    basis = {"accepted": 0, "features": features_name}
    submission = VALIDATOR.unknown(f"{why}: a submission cannot vouch for itself.", data=basis)
    own = _usable(batch, seed)
    if own is None:
        return LabelReport(
            [VALIDATOR.unknown(f"{why}.", data=basis) for _ in range(len(batch))], submission, basis
        )
    counts = Counter(batch.labels)
    known = set(own.labels)
    if len(own) < sum(counts[label] for label in known):  # a sample: whose judgements these are is not known
        words = f"{why}, and too many items here to compare with one another."
        return LabelReport([VALIDATOR.unknown(words, data=basis) for _ in batch.labels], submission, basis)
    queue = iter(cross_validated(own.features, own.labels, HONEST_FLAGS, seed))
    items = [_item(next(queue) if label in known else None, label, counts, basis) for label in batch.labels]
    return LabelReport(items, submission, basis)
