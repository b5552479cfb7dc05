"""How values look: money exact, shares, states in words, bars without inline styles."""

import pytest

from marketplace.models import Campaign, Evidence, Item, Job, Release, Submission, Verdict
from marketplace.templatetags import hydra
from marketplace.templatetags.states import state_of


@pytest.mark.parametrize(
    "nano, text",
    [
        (0, "0"), (1, "0.000000001"), (1_250_000_000, "1.25"), (1_234_500_000_000, "1,234.5"), (-10**9, "−1"),
        (-500_000_000, "−0.5"), (None, "–"),
    ],
)  # fmt: skip
def test_hyd(nano, text) -> None:
    assert hydra.hyd(nano) == text


@pytest.mark.parametrize(
    "share, digits, text", [(0.125, 1, "12.5 %"), (0.5, 0, "50 %"), (None, 0, "–"), ("", 0, "–")]
)
def test_percent(share, digits, text) -> None:
    assert hydra.percent(share, digits) == text


@pytest.mark.parametrize(
    "value, whole, width",
    [(1, 2, "50.00%"), (3, 2, "100.00%"), (-1, 2, "0.00%"), (1, 0, "0.00%"), (None, 1, "0.00%")],
)
def test_a_bar_stays_within_its_whole(value, whole, width) -> None:
    drawn = hydra.bar(value, whole)
    assert f'<rect width="{width}"' in drawn
    assert "style" not in drawn


def test_a_bar_escapes_its_label() -> None:
    assert "<b>" not in hydra.bar(1, 1, "<b>")


@pytest.mark.parametrize(
    "kind, choices",
    [
        ("item", Item.State), ("submission", Submission.State), ("campaign", Campaign.State), ("release", Release.State),
        ("job", Job.State), ("verdict", Verdict.Outcome), ("evidence", Evidence.Outcome),
    ],
)  # fmt: skip
def test_every_state_has_words_an_icon_and_a_tone(kind, choices) -> None:
    for value in choices.values:
        state = state_of(kind, value)
        assert state.icon != "dot", value
        assert f"tone-{state.tone}" in hydra.badge(kind, value)


def test_an_unknown_state_is_shown_by_its_own_word() -> None:
    assert "brand new" in hydra.badge("item", "brand_new")


def test_scalars_leave_out_what_has_parts() -> None:
    data = {"sharpness": 0.123456, "side": 64, "of": "", "list": [1], "nested": {"a": 1}, "kind": "near"}
    assert hydra.scalars(data) == [("sharpness", "0.1235"), ("side", "64"), ("kind", "near")]
    assert hydra.scalars(None) == []


@pytest.mark.parametrize(
    "ref, page",
    [
        ("item:5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11", "/items/5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11/"),
        ("job:5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11", "/jobs/5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11/"),
        ("user:5a5f1c0e-9d2c-4a37-8f0a-6f9f3c6f1d11", ""),
        ("item:nothing", ""),
        ("", ""),
    ],
)
def test_a_reference_leads_to_its_page(ref, page) -> None:
    assert hydra.ref_page(ref) == page
