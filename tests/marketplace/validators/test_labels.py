"""Label plausibility on real data: wrong batches are caught, honest ones mostly left alone; S22."""

import numpy as np
import pytest

from marketplace.validators import features
from marketplace.validators.intervals import binomial_tail, wilson
from marketplace.validators.labels import LabelledSet, check
from tests.marketplace.validators.samples import ADULT_COLUMNS, adult, digits, mails


def split(vectors, labels, trusted=400, batch=150, seed=0):
    order = np.random.default_rng(seed).permutation(len(labels))
    known, new = order[:trusted], order[trusted : trusted + batch]
    return (
        LabelledSet(vectors[known], [labels[i] for i in known]),
        LabelledSet(vectors[new], [labels[i] for i in new]),
    )


def flipped(part, share=1.0, seed=0):
    generator = np.random.default_rng(seed)
    classes = sorted(set(part.labels))
    wrong = [str(generator.choice([c for c in classes if c != label])) for label in part.labels]
    chosen = generator.random(len(wrong)) < share
    return LabelledSet(
        part.features, [w if c else t for w, c, t in zip(wrong, chosen, part.labels, strict=True)]
    )


def flagged(report):
    return float(np.mean([f.outcome == "suspect" for f in report.items]))


@pytest.fixture(scope="module")
def digit_sets():
    pictures, labels = digits()
    return split(features.image_features(pictures[:700], min_side=28), labels[:700])


@pytest.fixture(scope="module")
def mail_sets():
    texts, labels = mails(800)
    return split(features.text_features(texts[:400]), labels[:400], trusted=300, batch=100)


@pytest.fixture(scope="module")
def adult_sets():
    rows, labels = adult(700)
    return split(features.row_features(rows, ADULT_COLUMNS, rows[:400]), labels)


@pytest.mark.parametrize("sets", ["digit_sets", "mail_sets"])
def test_a_batch_that_is_wrong_throughout_is_caught_and_an_honest_one_passes(request, sets):
    trusted, honest = request.getfixturevalue(sets)
    wrong = check(flipped(honest), trusted)
    assert flagged(wrong) >= 0.9
    assert wrong.submission.outcome == "bad"
    fair = check(honest, trusted)
    assert flagged(fair) <= 0.1
    assert fair.submission.outcome == "ok"


def test_flipped_rows_are_caught_as_a_submission(adult_sets):
    trusted, honest = adult_sets
    assert check(flipped(honest), trusted).submission.outcome == "bad"
    assert check(flipped(honest, 0.4), trusted).submission.outcome == "suspect"
    assert check(honest, trusted).submission.outcome == "ok"


def test_the_words_name_the_numbers(digit_sets):
    trusted, honest = digit_sets
    report = check(flipped(honest), trusted)
    assert "has probability" in report.items[0].reasons[0]
    assert "labels (" in report.submission.reasons[0]
    assert "of the accepted items fit their label" in report.items[0].reasons[0]
    assert "among accepted items it is" in report.submission.reasons[0]


def test_the_same_seed_gives_the_same_findings(digit_sets):
    trusted, honest = digit_sets
    assert check(honest, trusted).items == check(honest, trusted).items


def test_a_few_wrong_accepted_labels_do_not_blind_it(digit_sets):
    trusted, honest = digit_sets
    assert flagged(check(flipped(honest), flipped(trusted, 0.03))) >= 0.85


def test_without_accepted_items_the_worst_come_first_and_the_whole_stays_open(digit_sets):
    trusted, _ = digit_sets
    noisy = flipped(trusted, 0.1, seed=3)
    report = check(noisy, None)
    assert report.submission.outcome == "not_enough_evidence"
    wrong = {i for i, (a, b) in enumerate(zip(noisy.labels, trusted.labels, strict=True)) if a != b}
    worst = sorted(range(len(noisy)), key=lambda i: report.items[i].data["margin"])[: len(wrong)]
    assert len(wrong & set(worst)) >= 0.8 * len(wrong)
    said = [reason for one in report.items for reason in one.reasons]
    assert said
    assert all("of the items compared fit their label" in reason for reason in said)


def test_a_class_too_small_to_compare_within_a_submission_is_open_and_the_rest_is_judged(digit_sets):
    trusted, _ = digit_sets
    report = check(LabelledSet(trusted.features, ["eleven", *trusted.labels[1:]]), None)
    assert report.items[0].reasons == (
        "The class “eleven” has 1 items of this submission to compare with; 5 are needed.",
    )
    assert {one.outcome for one in report.items[1:]} == {"ok", "suspect"}


def test_the_ranking_agrees_with_cleanlab(digit_sets):
    """cleanlab's adjusted margin on the same held-out probabilities: the same order up to ties."""
    from cleanlab.rank import get_label_quality_scores
    from scipy.stats import spearmanr

    from marketplace.validators import label_model

    trusted, _ = digit_sets
    names = np.asarray(flipped(trusted, 0.1).labels)
    classes = np.unique(names)
    probabilities = label_model._held_out(trusted.features, names, 17)
    usual = np.array([probabilities[names == c][:, i].mean() for i, c in enumerate(classes)])
    ours = label_model._margins(probabilities, names, classes, usual)
    theirs = get_label_quality_scores(
        np.searchsorted(classes, names), probabilities, method="normalized_margin", adjust_pred_probs=True
    )
    assert spearmanr(ours, theirs).statistic > 0.97


NOTHING = {
    "one class": ["a"] * 60,
    "a class with one sample": ["a"] * 59 + ["b"],
    "few items": ["a", "b"] * 5,
    "one item": ["a"],
}


@pytest.mark.parametrize("labels", NOTHING.values(), ids=NOTHING.keys())
def test_not_enough_evidence_is_an_answer(labels):
    vectors = np.random.default_rng(0).random((len(labels), 4), dtype=np.float32)
    both = LabelledSet(vectors, labels)
    for trusted in (None, both):
        report = check(both, trusted)
        assert [f.outcome for f in report.items] == ["not_enough_evidence"] * len(labels)
        assert report.submission.outcome == "not_enough_evidence"
        assert report.submission.reasons


def test_all_identical_texts_and_no_samples():
    same = features.text_features(["buy now"] * 80)
    report = check(LabelledSet(same, ["a", "b"] * 40), LabelledSet(same, ["a", "b"] * 40))
    assert len(report.items) == 80
    assert not any(f.outcome == "bad" for f in report.items)
    assert check(LabelledSet(same[:0], []), None).items == []


def test_a_class_that_nobody_knows_is_open_and_the_rest_is_judged(digit_sets):
    trusted, honest = digit_sets
    report = check(LabelledSet(honest.features, ["eleven", *honest.labels[1:]]), trusted)
    assert report.items[0].outcome == "not_enough_evidence"
    assert "“eleven” has 0 accepted items" in report.items[0].reasons[0]
    assert report.items[1].outcome != "not_enough_evidence"


def test_intervals_against_worked_examples():
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    assert binomial_tail(2, 2, 0.5) == pytest.approx(0.25)
    assert binomial_tail(0, 5, 0.1) == 1.0
