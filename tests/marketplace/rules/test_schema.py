"""Drafts of campaigns: every fault is named at its place."""

from datetime import datetime

import pytest

from marketplace.errors import InvalidInput
from marketplace.rules.schema import CampaignDraft, check_draft, clean_name

IMAGE = {"title": "Digits", "modality": "image", "classes": ["0", "1"]}
TABLE = {
    "title": "Adult",
    "modality": "tabular",
    "classes": ["<=50K", ">50K"],
    "columns": [{"name": "age", "type": "number"}],
}
SEX = {"name": "sex", "values": ["f", "m"], "targets": {"f": 0.5, "m": 0.5}}


def faults_of(**fields) -> dict[str, list[str]]:
    with pytest.raises(InvalidInput) as refused:
        check_draft(CampaignDraft(**fields))
    return refused.value.fields


def test_a_good_draft_is_put_in_order():
    draft = check_draft(
        CampaignDraft(
            **{**IMAGE, "title": "  Digits\u00a0of  hands ", "classes": ["Ve\u0301lo", "auto\u00a0"]}
        )
    )
    assert draft.title == "Digits of hands"
    assert draft.classes == ["Vélo", "auto"]


def test_all_faults_are_named_at_once():
    faults = faults_of(title="x", modality="sound", classes=[], reward_base=-1, image_channels=2)
    assert {"title", "modality", "classes", "reward_base", "image_channels"} <= faults.keys()


@pytest.mark.parametrize(
    "change, place",
    [
        ({"classes": ["a", "a"]}, "classes.1"),
        ({"classes": ["a", "a\u00a0"]}, "classes.1"),
        ({"classes": ["a", "b\u202e"]}, "classes.1"),
        ({"classes": "ab"}, "classes"),
        ({"classes": ["only"]}, "classes"),
        ({"classes": ["cat", "Cat"]}, "classes.1"),
        ({"classes": ["Stra\u00dfe", "STRASSE"]}, "classes.1"),
        ({"classes": ["V\u00e9lo", "ve\u0301lo"]}, "classes.1"),
        ({"classes": ["cat", "a/b"]}, "classes.1"),
        ({"classes": ["a\\b", "cat"]}, "classes.0"),
        ({"classes": ["cat", ".."]}, "classes.1"),
        ({"label_column": "File"}, "label_column"),
        ({"reward_base": 0}, "reward_base"),
        ({"attributes": [SEX, {**SEX, "name": "Sex"}]}, "attributes.1.name"),
        ({"attributes": [{**SEX, "name": "Label"}]}, "attributes.0.name"),
        ({"modality": "text", "label_column": "Text"}, "text_column"),
        ({"modality": "text", "attributes": [{**SEX, "name": "text"}]}, "attributes.0.name"),
        ({"image_min_side": 0}, "image_min_side"),
        ({"image_min_side": True}, "image_min_side"),
        ({"reward_base": 10**16}, "reward_base"),
        ({"licence": ""}, "licence"),
        ({"deadline": datetime(2030, 1, 1)}, "deadline"),  # noqa: DTZ001 - that is the fault
        ({"policy": {"cold_start": "perhaps"}}, "policy.cold_start"),
        ({"policy": {"nonsense": 1}}, "policy.nonsense"),
        ({"policy": {"doubt_margin": 1.5}}, "policy.doubt_margin"),
        ({"attributes": [{**SEX, "targets": {"f": 0.9, "m": 0.9}}]}, "attributes.0.targets"),
        ({"attributes": [{**SEX, "targets": {"x": 0.1}}]}, "attributes.0.targets.x"),
        ({"attributes": [SEX, SEX]}, "attributes.1.name"),
        ({"attributes": ["sex"]}, "attributes.0"),
    ],
)
def test_a_fault_is_named_at_its_place(change, place):
    assert place in faults_of(**{**IMAGE, **change})


@pytest.mark.parametrize(
    "columns, place",
    [
        ([], "columns"),
        ([{"name": "age", "type": "date"}], "columns.0.type"),
        ([{"name": "", "type": "number"}], "columns.0.name"),
        ([{"name": "age", "type": "number"}, {"name": "age", "type": "number"}], "columns.1.name"),
        ([{"name": "age", "type": "number", "low": 9, "high": 1}], "columns.0.low"),
        ([{"name": "age", "type": "number", "low": float("nan")}], "columns.0.low"),
        ([{"name": "label", "type": "number"}], "columns.0.name"),
        ([{"name": "LABEL", "type": "number"}], "columns.0.name"),
        ([{"name": "age", "type": "number"}, {"name": "Age", "type": "number"}], "columns.1.name"),
        ([{"name": "job", "type": "category", "values": ["a", "a"]}], "columns.0.values.1"),
    ],
)
def test_columns_are_checked(columns, place):
    assert place in faults_of(**{**TABLE, "columns": columns})


def test_partial_targets_and_open_categories_are_allowed():
    columns = [{"name": "age", "type": "number", "low": 0}, {"name": "job", "type": "category"}]
    draft = check_draft(
        CampaignDraft(**{**TABLE, "columns": columns, "attributes": [{**SEX, "targets": {"f": 0.5}}]})
    )
    assert draft.columns == [
        {"name": "age", "type": "number", "low": 0},
        {"name": "job", "type": "category", "values": []},
    ]
    assert draft.attributes[0]["targets"] == {"f": 0.5}


def test_names_that_differ_in_more_than_spelling_stay_apart():
    assert clean_name("vélo") != clean_name("Vélo")


def test_what_only_looks_like_a_fault_is_taken():
    slashes = check_draft(
        CampaignDraft(**{**TABLE, "classes": ["Asian/Pacific", "other"]})
    )  # no folders here
    assert slashes.classes == ["Asian/Pacific", "other"]
    assert check_draft(CampaignDraft(**{**IMAGE, "reward_base": 1, "text_column": "label"})).reward_base == 1
    assert check_draft(CampaignDraft(**{**IMAGE, "classes": ["v1.0", "..."]})).classes == ["v1.0", "..."]
