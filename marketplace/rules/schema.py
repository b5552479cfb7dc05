"""What a campaign may ask for: a draft's fields checked and put in order before they are stored.

Knows nothing of the database; the slug and the owner are the service's.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from marketplace.errors import InvalidInput
from marketplace.rules.admission import PolicyError, check_policy

MODALITIES = ("image", "text", "tabular")
MAX_CLASSES = 200  # more would make a class's share too thin for any label check
MAX_COLUMNS = 200
MAX_VALUES = 200
MAX_NAME = 80
MAX_CLASS_NAME = 120  # Item.label
MAX_REWARD = 10**6 * 10**9  # a million HYD for one item is a slip of the pen
TARGET_SLACK = 1e-6  # shares written as decimals need not sum to 1 exactly


@dataclass(frozen=True)
class CampaignDraft:
    """A sponsor's wishes, unchecked. `reward_base` in nano HYD; JSON-like fields as in models.Campaign."""

    title: str
    modality: str
    classes: Sequence[str]
    description: str = ""
    columns: Sequence[Mapping[str, Any]] = ()
    label_column: str = "label"
    text_column: str = "text"
    attributes: Sequence[Mapping[str, Any]] = ()
    image_channels: int = 3
    image_min_side: int = 128
    licence: str = "CC-BY-4.0"
    consent_text: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    reward_base: int = 10**9
    deadline: datetime | None = None


class _Faults(dict[str, str]):
    """Field errors as they are found: the first one of each field is kept."""

    def add(self, place: str, message: str) -> None:
        self.setdefault(place, message)


def check_draft(draft: CampaignDraft) -> CampaignDraft:
    """The draft with names normalised (NFC, trimmed) and the policy checked.

    Raises: InvalidInput whose fields name every place that is wrong, not only the first.
    """
    faults = _Faults()
    title = clean_name(draft.title)
    if not 3 <= len(title) <= 120:
        faults.add("title", "3 to 120 characters")
    if draft.modality not in MODALITIES:
        faults.add("modality", f"one of {', '.join(MODALITIES)}")
    classes = _check_classes(draft, faults)
    columns = _check_columns(draft, faults)
    attributes = _check_attributes(draft.attributes, faults)
    _check_label_apart(draft, attributes, faults)
    policy = _check_policy(draft.policy, faults)
    _check_scalars(draft, faults)
    if faults:
        place, message = next(iter(faults.items()))
        raise InvalidInput(f"{place}: {message}.", fields=faults)
    return replace(
        draft,
        title=title,
        description=draft.description.strip(),
        classes=classes,
        columns=columns,
        attributes=attributes,
        policy=policy,
        licence=clean_name(draft.licence),
        label_column=clean_name(draft.label_column),
        text_column=clean_name(draft.text_column),
    )


def clean_name(text: object) -> str:
    """NFC, with runs of white space (also the non-breaking kinds) as one space: two spellings of one name meet."""
    return " ".join(unicodedata.normalize("NFC", str(text)).split())


def _check_names(names: object, place: str, faults: _Faults, *, limit: int, longest: int) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        faults.add(place, "a list of names")
        return []
    cleaned = [clean_name(name) for name in names]
    if not 1 <= len(cleaned) <= limit:
        faults.add(place, f"1 to {limit} names")
    for index, name in enumerate(cleaned):
        if not 1 <= len(name) <= longest:
            faults.add(f"{place}.{index}", f"1 to {longest} characters")
        elif not name.isprintable():
            faults.add(f"{place}.{index}", "printable characters only")
        elif cleaned.index(name) != index:
            faults.add(f"{place}.{index}", f"{name!r} is there twice")
    return cleaned


def _check_classes(draft: CampaignDraft, faults: _Faults) -> list[str]:
    """Classes that a label can be told apart by: two or more, and where folders name them, names a folder can have."""
    classes = _check_names(draft.classes, "classes", faults, limit=MAX_CLASSES, longest=MAX_CLASS_NAME)
    if len(classes) == 1:
        faults.add("classes", "one class leaves nothing to learn; give two or more")
    folded = [name.casefold() for name in classes]
    for index, name in enumerate(classes):
        first = folded.index(folded[index])
        if first != index:
            faults.add(
                f"classes.{index}",
                f"{name!r} and {classes[first]!r} differ in case only; keep one, or give them different names",
            )
        if draft.modality != "tabular" and (name in (".", "..") or "/" in name or "\\" in name):
            faults.add(
                f"classes.{index}",
                f"no folder can be named {name!r}; choose a name without / and \\, not . or ..",
            )
    return classes


def _same_name(one: object, other: object) -> bool:
    """Whether a table could hold only one of the two as a column: files are read without regard to case."""
    return clean_name(one).casefold() == clean_name(other).casefold()


def _check_label_apart(
    draft: CampaignDraft, attributes: Sequence[Mapping[str, Any]], faults: _Faults
) -> None:
    """The label in a column of its own: neither the text's nor a group's."""
    taken = [draft.label_column]
    if draft.modality == "text":
        taken.append(draft.text_column)
        if _same_name(draft.text_column, draft.label_column):
            faults.add("text_column", "this is the label's column; the text needs a column of its own")
    if draft.modality == "image" and _same_name(draft.label_column, "file"):
        faults.add("label_column", "the column “file” names the images; call the label's column otherwise")
    for index, one in enumerate(attributes):
        if any(_same_name(one.get("name", ""), name) for name in taken):
            faults.add(
                f"attributes.{index}.name",
                "this is the label's or the text's column; call the attribute otherwise",
            )


def _check_columns(draft: CampaignDraft, faults: _Faults) -> list[dict[str, Any]]:
    if draft.modality != "tabular":
        return []
    columns = draft.columns
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not 1 <= len(columns) <= MAX_COLUMNS:
        faults.add("columns", f"1 to {MAX_COLUMNS} columns")
        return []
    checked = [_check_column(column, f"columns.{index}", faults) for index, column in enumerate(columns)]
    _check_twice([column.get("name", "") for column in checked], "columns", faults)
    for index, column in enumerate(checked):
        if column.get("name") and _same_name(column["name"], draft.label_column):
            faults.add(f"columns.{index}.name", "this is the label's column; list only the inputs here")
    return checked


def _check_column(column: object, place: str, faults: _Faults) -> dict[str, Any]:
    if not isinstance(column, Mapping):
        faults.add(place, 'an object such as {"name": "age", "type": "number"}')
        return {}
    name, kind = clean_name(column.get("name", "")), column.get("type")
    if not 1 <= len(name) <= MAX_NAME:
        faults.add(f"{place}.name", f"1 to {MAX_NAME} characters")
    if kind == "number":
        return {"name": name, "type": "number", **_check_range(column, place, faults)}
    if kind == "category":
        values = column.get("values") or []
        if not values:
            return {"name": name, "type": "category", "values": []}  # any value: the release fixes the list
        named = _check_names(values, f"{place}.values", faults, limit=MAX_VALUES, longest=MAX_CLASS_NAME)
        return {"name": name, "type": "category", "values": named}
    faults.add(f"{place}.type", "number or category")
    return {"name": name}


def _check_range(column: Mapping[str, Any], place: str, faults: _Faults) -> dict[str, float]:
    limits: dict[str, float] = {}
    for side in ("low", "high"):
        value = column.get(side)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            faults.add(f"{place}.{side}", "a finite number")
        else:
            limits[side] = value
    if len(limits) == 2 and limits["low"] > limits["high"]:
        faults.add(f"{place}.low", "not above high")
    return limits


def _check_attributes(attributes: object, faults: _Faults) -> list[dict[str, Any]]:
    if isinstance(attributes, str) or not isinstance(attributes, Sequence) or len(attributes) > 20:
        faults.add("attributes", "a list of at most 20 attributes")
        return []
    checked = [_check_attribute(one, f"attributes.{index}", faults) for index, one in enumerate(attributes)]
    _check_twice([one.get("name", "") for one in checked], "attributes", faults)
    return checked


def _check_twice(names: Sequence[str], place: str, faults: _Faults) -> None:
    """Names of columns, which are found in a file without regard to case."""
    folded = [name.casefold() for name in names]
    for index, name in enumerate(names):
        if name and folded.index(folded[index]) != index:
            faults.add(f"{place}.{index}.name", f"{name!r} is there twice (case does not count)")


def _check_attribute(attribute: object, place: str, faults: _Faults) -> dict[str, Any]:
    if not isinstance(attribute, Mapping):
        faults.add(
            place, 'an object such as {"name": "sex", "values": ["f", "m"], "targets": {"f": 0.5, "m": 0.5}}'
        )
        return {}
    name = clean_name(attribute.get("name", ""))
    if not 1 <= len(name) <= MAX_NAME:
        faults.add(f"{place}.name", f"1 to {MAX_NAME} characters")
    values = _check_names(
        attribute.get("values", []), f"{place}.values", faults, limit=MAX_VALUES, longest=MAX_CLASS_NAME
    )
    targets = _check_targets(attribute.get("targets") or {}, values, f"{place}.targets", faults)
    return {"name": name, "values": values, "targets": targets}


def _check_targets(targets: object, values: list[str], place: str, faults: _Faults) -> dict[str, float]:
    if not isinstance(targets, Mapping):
        faults.add(place, "shares by value")
        return {}
    shares: dict[str, float] = {}
    for raw, share in targets.items():
        value = clean_name(raw)
        if value not in values:
            faults.add(f"{place}.{value}", "not among the values")
        elif isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            faults.add(f"{place}.{value}", "a share from 0 to 1")
        else:
            shares[value] = float(share)
    if shares and set(shares) == set(values) and abs(sum(shares.values()) - 1) > TARGET_SLACK:
        faults.add(place, f"the shares sum to {sum(shares.values()):g}, not to 1")
    elif sum(shares.values()) > 1 + TARGET_SLACK:
        faults.add(place, f"the shares sum to {sum(shares.values()):g}, more than 1")
    return shares


def _check_policy(policy: object, faults: _Faults) -> dict[str, Any]:
    if not isinstance(policy, Mapping):
        faults.add("policy", "settings by name")
        return {}
    try:
        return check_policy(policy)
    except PolicyError as error:
        for name, message in error.faults.items():
            faults.add(f"policy.{name}", message)
        return {}


def _check_scalars(draft: CampaignDraft, faults: _Faults) -> None:
    if draft.image_channels not in (1, 3):
        faults.add("image_channels", "1 (grey) or 3 (colour)")
    if not _is_whole(draft.image_min_side) or not 1 <= draft.image_min_side <= 4096:
        faults.add("image_min_side", "1 to 4096 pixels")
    if not _is_whole(draft.reward_base) or not 1 <= draft.reward_base <= MAX_REWARD:
        faults.add("reward_base", "more than 0, up to 1,000,000 HYD: an accepted item has to be paid for")
    if not 1 <= len(clean_name(draft.licence)) <= MAX_NAME:
        faults.add("licence", f"1 to {MAX_NAME} characters")
    for place in ("label_column", "text_column"):
        if not 1 <= len(clean_name(getattr(draft, place))) <= MAX_NAME:
            faults.add(place, f"1 to {MAX_NAME} characters")
    for place, longest in (("description", 20_000), ("consent_text", 20_000)):
        if len(getattr(draft, place)) > longest:
            faults.add(place, f"at most {longest:,} characters")
    if draft.deadline is not None and draft.deadline.tzinfo is None:
        faults.add("deadline", "a time with its zone")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
