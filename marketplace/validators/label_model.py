"""The model behind labels.py: a logistic regression, its cross-validated margins, and the threshold they give.

Knows features and class names; what a margin means for a person or a policy is labels.py's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from marketplace.validators.features import TEXT_BLOCK

Features: TypeAlias = Any  # (n, d): a dense array of float32, or a scipy csr_matrix
FOLDS = 5
TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
TRIM = 0.05  # of the accepted items, at most, may be left out as mislabelled themselves
TRIM_BELOW = -0.8


@dataclass(frozen=True)
class Judgement:
    """One label seen by the model. `margin` in [-1, 1] is p(label) minus the best other class, adjusted for how
    sure the model usually is of each class; `rank` is the share of the items compared with a smaller margin."""

    p_label: float
    likely: str
    p_likely: float
    margin: float
    rank: float
    flagged: bool
    disagrees: bool

    def words(self, label: str, compared: str) -> str:
        """`compared`: what the model was fitted on, such as "accepted items"."""
        return (
            f"The label “{label}” has probability {self.p_label:.1%} here, “{self.likely}” {self.p_likely:.0%}; "
            f"only {self.rank:.1%} of the {compared} fit their label as badly."
        )


@dataclass(frozen=True)
class _Calibration:
    """From cross-validated probabilities of the accepted items."""

    classes: NDArray[Any]
    temperature: float
    usual: NDArray[np.float64]  # mean p(label) per class
    margins: NDArray[np.float64]  # sorted
    threshold: float


class _Model:
    """Weights by document frequency for hashed texts, then logistic regression with a fixed seed."""

    def __init__(self, features: Features, labels: NDArray[Any], seed: int) -> None:
        self._weights = [TfidfTransformer(sublinear_tf=True).fit(block) for block in _text_blocks(features)]
        strength = 100.0 if self._weights else 50.0 if _is_normalised(features) else 1.0
        self._regression = LogisticRegression(C=strength, max_iter=200, random_state=seed)
        with (
            warnings.catch_warnings(),
            threadpool_limits(1),
        ):  # small matrices: threads only wait for one another
            warnings.simplefilter("ignore", ConvergenceWarning)  # 200 rounds are enough for a ranking
            self._regression.fit(self._prepared(features), labels)
        self.classes = self._regression.classes_

    def _prepared(self, features: Features) -> Features:
        if not self._weights:
            return features
        blocks = zip(self._weights, _text_blocks(features), strict=True)
        return sparse.csr_matrix(sparse.hstack([weights.transform(block) for weights, block in blocks]))

    def probabilities(self, features: Features) -> NDArray[np.float64]:
        return np.asarray(self._regression.predict_proba(self._prepared(features)), dtype=np.float64)


def _text_blocks(features: Features) -> list[sparse.csr_matrix]:
    """Words and characters apart, each to be weighted and normalised by itself; nothing for dense features."""
    if not sparse.issparse(features):
        return []
    return [features[:, at : at + TEXT_BLOCK] for at in range(0, features.shape[1], TEXT_BLOCK)]


def _is_normalised(features: Features) -> bool:
    """Pictures come as vectors of about length 1 and need weak regularisation; scaled columns do not."""
    return bool(np.median(np.linalg.norm(np.asarray(features[:64]), axis=1)) < 3.0)


class Knowledge:
    """What the accepted items teach: a model, and how its margins are spread over honest labels."""

    def __init__(self, model: _Model, calibration: _Calibration, disagreement: float, count: int) -> None:
        self._model = model
        self._calibration = calibration
        self.disagreement = disagreement  # share of accepted items whose label is not the most likely class
        self.count = count

    def judge(self, features: Features, labels: Sequence[str]) -> list[Judgement | None]:
        """One judgement per label; None for a class that the accepted items do not teach."""
        probabilities = _tempered(self._model.probabilities(features), self._calibration.temperature)
        return _judgements(probabilities, labels, self._calibration)


def learn(features: Features, labels: Sequence[str], honest_flags: float, seed: int) -> Knowledge:
    """Fits on accepted items after leaving out the few that contradict all others most."""
    names = np.asarray(labels)
    held_out = _held_out(features, names, seed)
    raw = _margins(held_out, names, np.unique(names), np.zeros(len(np.unique(names))))
    disagreement = float((raw < 0).mean())
    kept = _kept(raw, names)
    calibration = _calibrate(held_out[kept], names[kept], honest_flags)
    return Knowledge(_Model(features[kept], names[kept], seed), calibration, disagreement, len(names))


def cross_validated(
    features: Features, labels: Sequence[str], honest_flags: float, seed: int
) -> list[Judgement | None]:
    """Each label judged by a model that did not see it: for batches without accepted items to compare with."""
    names = np.asarray(labels)
    held_out = _held_out(features, names, seed)
    calibration = _calibrate(held_out, names, honest_flags)
    return _judgements(_tempered(held_out, calibration.temperature), labels, calibration)


def _kept(margins: NDArray[np.float64], names: NDArray[Any]) -> NDArray[np.intp]:
    worst = np.argsort(margins, kind="stable")[: int(TRIM * len(names))]
    out = {int(i) for i in worst if margins[i] < TRIM_BELOW}
    return np.array([i for i in range(len(names)) if i not in out], dtype=np.intp)


def _held_out(features: Features, names: NDArray[Any], seed: int) -> NDArray[np.float64]:
    """Probabilities of each item from a model that did not see it. Shape (n, classes), classes sorted."""
    classes = np.unique(names)
    result = np.zeros((len(names), len(classes)))
    for rest, fold in _folds(names, seed):
        model = _Model(features[rest], names[rest], seed)
        result[np.ix_(fold, np.searchsorted(classes, model.classes))] = model.probabilities(features[fold])
    return result


def _folds(names: NDArray[Any], seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Stratified: each class dealt out over the folds in a seeded order."""
    generator = np.random.default_rng(seed)
    fold_of = np.empty(len(names), dtype=int)
    for name in np.unique(names):
        mine = generator.permutation(np.flatnonzero(names == name))
        fold_of[mine] = (np.arange(len(mine)) + generator.integers(FOLDS)) % FOLDS
    for fold in range(FOLDS):
        yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


def _calibrate(held_out: NDArray[np.float64], names: NDArray[Any], honest_flags: float) -> _Calibration:
    """Temperature by likelihood, then the margin that only `honest_flags` of these items fall below.

    Source: temperature scaling, Guo et al., ICML 2017; per-class confidence, Northcutt et al., JAIR 2021.
    """
    classes = np.unique(names)
    given = np.searchsorted(classes, names)
    rows = np.arange(len(names))

    def loss(temperature: float) -> float:
        return float(-np.log(np.maximum(_tempered(held_out, temperature)[rows, given], 1e-12)).mean())

    temperature = min(TEMPERATURES, key=loss)
    probabilities = _tempered(held_out, temperature)
    own = probabilities[rows, given]
    usual = np.array([own[given == c].mean() for c in range(len(classes))])
    margins = np.sort(_margins(probabilities, names, classes, usual))
    threshold = float(margins[int(honest_flags * len(margins))])
    return _Calibration(classes, temperature, usual, margins, min(0.0, threshold))


def _tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    powered = np.maximum(probabilities, 1e-12) ** (1.0 / temperature)
    return np.asarray(powered / powered.sum(axis=1, keepdims=True))


def _margins(
    probabilities: NDArray[np.float64], names: NDArray[Any], classes: NDArray[Any], usual: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Normalised margin after taking off each class's usual confidence (cleanlab's adjusted margin)."""
    adjusted = probabilities - usual
    rows, given = np.arange(len(names)), np.searchsorted(classes, names)
    own = adjusted[rows, given]
    others = adjusted.copy()
    others[rows, given] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _judgements(
    probabilities: NDArray[np.float64], labels: Sequence[str], calibration: _Calibration
) -> list[Judgement | None]:
    classes = calibration.classes
    place = {str(name): i for i, name in enumerate(classes)}
    known = [i for i, label in enumerate(labels) if label in place]
    found: list[Judgement | None] = [None] * len(labels)
    if not known:
        return found
    chosen = probabilities[known]
    margins = _margins(chosen, np.array([labels[i] for i in known]), classes, calibration.usual)
    ranks = np.searchsorted(calibration.margins, margins, side="right") / len(calibration.margins)
    for i, row, margin, rank in zip(known, chosen, margins, ranks, strict=True):
        likely = int(row.argmax())
        disagrees = likely != place[labels[i]]
        flagged = bool(disagrees and margin <= calibration.threshold)
        found[i] = Judgement(
            float(row[place[labels[i]]]),
            str(classes[likely]),
            float(row[likely]),
            float(margin),
            float(rank),
            flagged,
            disagrees,
        )
    return found
