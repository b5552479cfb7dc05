"""S8, S11: which spellings are one class, and names that are safe to show."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.intake import match_label, normal_label, safe_name
from marketplace.intake.records import LabelDesk

CLASSES = ("Vélo", "Auto")


@pytest.mark.parametrize(
    "received", [unicodedata.normalize("NFD", "Vélo"), "Vélo\u00a0", " Vélo", "Vélo\u200b"]
)
def test_what_keyboards_change_is_the_same_class_with_a_notice(received):
    match = match_label(received, CLASSES)
    assert (match.label, match.kind) == ("Vélo", "normalised")
    desk = LabelDesk(CLASSES)
    assert desk.settle(received) == ("Vélo", "")
    assert "taken as the class “Vélo”" in desk.notices()[0]


@pytest.mark.parametrize("received", ["vélo", "ＶＥＬＯ", "Velo", "VÉLO", "Véloo"])
def test_near_spellings_are_asked_about_never_merged(received):
    match = match_label(received, CLASSES)
    assert (match.kind, match.suggestion) == ("ask", "Vélo")
    desk = LabelDesk(CLASSES)
    label, refusal = desk.settle(received)
    assert label == ""
    assert "did you mean “Vélo”" in refusal
    assert [q.label for q in desk.questions()] == [received]


def test_the_spelling_itself_is_the_same_and_a_stranger_is_unknown():
    assert match_label("Vélo", CLASSES).kind == "same"
    assert match_label("Boot", CLASSES).kind == "unknown"
    assert match_label("", CLASSES).kind == "unknown"
    assert LabelDesk(CLASSES).settle("x" * 121)[1].startswith("its label is 121")


def test_a_refusal_says_how_many_classes_it_left_out():
    names = [f"class-{n}" for n in range(10)]
    assert LabelDesk(tuple(names)).settle("boat")[1].endswith(f"({', '.join(names[:8])} … and 2 more)")
    assert LabelDesk(tuple(names[:8])).settle("boat")[1].endswith(f"({', '.join(names[:8])})")


def test_an_answer_settles_the_question():
    desk = LabelDesk(CLASSES, {"vélo": "Vélo"})
    assert desk.settle("vélo") == ("Vélo", "")
    assert desk.questions() == ()


def test_an_open_campaign_takes_new_classes_but_asks_about_near_ones():
    desk = LabelDesk(())
    assert desk.settle("Vélo") == ("Vélo", "")
    assert desk.settle("Ve\u0301lo ")[0] == "Vélo"
    assert desk.settle("vélo")[0] == ""
    assert desk.settle("Schiff") == ("Schiff", "")


@given(st.text())
def test_normal_form_is_stable(label):
    assert normal_label(normal_label(label)) == normal_label(label)


@pytest.mark.parametrize(
    "name, shown",
    [
        ("cat.jpg", "cat.jpg"),
        ("a\nb.jpg", "a�b.jpg"),
        ("photo\u202egpj.exe", "photo�gpj.exe"),
        ("-rf.png", "_-rf.png"),
        ("👨🏻\u200d🚒.png", "👨🏻\u200d🚒.png"),
        ("", "unnamed"),
    ],
)
def test_names_are_safe_to_show(name, shown):
    assert safe_name(name) == shown


def test_a_long_name_keeps_its_ending():
    shown = safe_name("x" * 400 + ".jpg")
    assert len(shown) == 300
    assert shown.endswith(".jpg")


@given(st.text(st.characters(), max_size=400))
def test_any_name_becomes_short_printable_and_stays_so(name):
    shown = safe_name(name)
    assert 0 < len(shown) <= 300
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown)
    assert not shown.startswith("-")
    assert safe_name(shown) == shown
