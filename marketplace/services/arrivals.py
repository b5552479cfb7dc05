"""From an uploaded file to Item rows: one per entry, also for what is ignored or refused, each with its reason.

Of items with the same bytes in a campaign one is live; the database's constraint decides a race, and the others
become duplicates of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Prefetch, prefetch_related_objects

from marketplace.errors import Conflict, InvalidInput, TooLarge
from marketplace.intake import (
    Entry,
    IntakeError,
    Refusal,
    UploadLimits,
    UploadOptions,
    UploadPlan,
    UploadSchema,
    content_sha256_row,
    content_sha256_text,
    match_label,
    plan_upload,
    read_entries,
    safe_name,
)
from marketplace.models import Campaign, Item, Modality, Submission
from marketplace.models.writing import insert_rows, new_row
from marketplace.rules.schema import clean_name
from marketplace.services import storage

LIVE = (Item.State.PENDING, Item.State.ACCEPTED)
LOOKUP = 500  # parameters per query that SQLite and PostgreSQL both take
RACES = 3  # a live twin can be rejected between our two looks, but not forever


@dataclass(frozen=True)
class ReceivedFile:
    """One uploaded file. Exactly one of `path` and `content` is given; `name` may hold the relative path.

    `label` and `attributes` apply to every entry that brings none of its own; `answers` maps a received label to the
    class that was meant.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    label: str = ""
    attributes: Mapping[str, str] | None = None
    encoding: str = ""
    delimiter: str = ""
    answers: Mapping[str, str] | None = None


def plan_file(campaign: Campaign, file: ReceivedFile, path: Path) -> UploadPlan:
    """What is in the file, without storing anything: for a preview. Raises: InvalidInput(file), TooLarge."""
    options = UploadOptions(
        encoding=file.encoding,
        delimiter=file.delimiter,
        label=file.label or _folder_label(campaign, file.name),
        attributes=_check_attributes(campaign, file.attributes or {}),
        answers=dict(file.answers or {}),
    )
    try:
        return plan_upload(file.name, path, schema_of(campaign), limits(), options)
    except IntakeError as error:
        where = f" ({error.where})" if error.where else ""
        kind = TooLarge if error.code == "too_large" else InvalidInput
        raise kind(f"{error.message}{where}", fields={"file": error.message}, code=error.code) from error


def _folder_label(campaign: Campaign, name: str) -> str:
    """The innermost folder of a relative path that names a class: browsers send `cats/tom.png` from a chosen folder."""
    for folder in reversed(name.replace("\\", "/").split("/")[:-1]):
        if match_label(folder, tuple(campaign.classes)).kind in ("same", "normalised"):
            return folder
    return ""


def limits() -> UploadLimits:
    usual, most = UploadLimits(), settings.HYDRA_MAX_FILE_BYTES
    return replace(usual, file_bytes=min(usual.file_bytes, most), table_bytes=min(usual.table_bytes, most))


def schema_of(campaign: Campaign) -> UploadSchema:
    return UploadSchema(
        modality=campaign.modality,  # type: ignore[arg-type]
        classes=tuple(campaign.classes),
        text_column=campaign.text_column,
        label_column=campaign.label_column,
        columns=tuple(campaign.columns),
        attributes=tuple(one["name"] for one in campaign.attributes),
    )


def _check_attributes(campaign: Campaign, given: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            "Attributes are an object of names and values.", fields={"attributes": "an object"}
        )
    cleaned = {clean_name(name): clean_name(value) for name, value in given.items()}
    if fault := _attribute_fault(campaign, cleaned):
        raise InvalidInput(fault, fields={"attributes": fault})
    return cleaned


def _attribute_fault(campaign: Campaign, given: Mapping[str, str]) -> str:
    declared = {one["name"]: one["values"] for one in campaign.attributes}
    for name, value in given.items():
        if name not in declared:
            return f"The campaign declares no attribute “{name}”."
        if value not in declared[name]:
            return f"{name} is “{value}”, which is none of: {', '.join(declared[name])}."
    return ""


def read_items(campaign: Campaign, file: ReceivedFile, path: Path) -> list[Item]:
    """Unsaved items in the order of the file's entries; the original bytes are stored on the way.

    Raises: InvalidInput(file), TooLarge.
    """
    plan = plan_file(campaign, file, path)
    items = {id(entry): _item_of(campaign, entry) for entry in plan.entries}
    data = [entry for entry in plan.entries if items[id(entry)].state == Item.State.PENDING]
    if campaign.modality == Modality.IMAGE:
        for entry, content in read_entries(path, data, limits()):
            _keep_image(items[id(entry)], content)
    elif data:
        digest, key = _keep_table(path)
        for entry in data:
            _keep_content(items[id(entry)], entry, digest, key)
    return [items[id(entry)] for entry in plan.entries]


def _item_of(campaign: Campaign, entry: Entry) -> Item:
    attributes = {clean_name(name): clean_name(value) for name, value in entry.attributes.items()}
    values = {
        "name": safe_name(entry.name),
        "locator": entry.locator[:300],
        "label": entry.label,
        "text": entry.text,
        "row": dict(entry.row) if entry.row is not None else None,
        "attributes": attributes,
    }
    if entry.kind != "data":
        state = Item.State.IGNORED if entry.kind == "ignored" else Item.State.REJECTED
        values |= {"state": state.value, "reason": entry.reason[:500]}
    elif fault := _attribute_fault(campaign, attributes):
        values |= {"state": Item.State.REJECTED.value, "reason": fault[:500]}
    return new_row(Item, values)


def _keep_image(item: Item, content: bytes | Refusal) -> None:
    if isinstance(content, Refusal):
        item.state, item.reason = Item.State.REJECTED, content.reason[:500]
        return
    item.original_sha256 = sha256(content).hexdigest()
    item.original_key = storage.store_original(content, item.original_sha256)


def _keep_table(path: Path) -> tuple[str, str]:
    content = path.read_bytes()
    digest = sha256(content).hexdigest()
    return digest, storage.store_original(content, digest)


def _keep_content(item: Item, entry: Entry, file_sha256: str, key: str) -> None:
    """A text is known by its own bytes. Equal rows are normal in tables, so a row is known by its file and place:
    the same file again is a duplicate row by row, the same row in another file is not.
    """
    item.original_key = key
    if entry.row is None:
        item.original_sha256 = sha256(entry.text.encode()).hexdigest()
        item.content_sha256 = content_sha256_text(entry.text)
    else:
        item.content_sha256 = content_sha256_row(entry.row)
        item.original_sha256 = sha256(f"{file_sha256}\n{entry.locator}".encode()).hexdigest()


def insert(submission: Submission, items: Sequence[Item]) -> list[Item]:
    """Gives the items their places and saves them. To be called in a transaction that holds the submission's row.

    Returns: the saved items in order.
    """
    last = submission.items.aggregate(last=Max("position"))["last"]
    for position, item in enumerate(items, start=0 if last is None else last + 1):
        item.submission_id, item.campaign_id = submission.pk, submission.campaign_id
        item.contributor_id = submission.contributor_id
        item.position = position
    waiting = [item for item in items if item.state == Item.State.PENDING and item.original_sha256]
    certain = [item for item in items if not (item.state == Item.State.PENDING and item.original_sha256)]
    insert_rows(certain)
    for _ in range(RACES):
        if not waiting:
            break
        waiting = _insert_live(submission.campaign_id, waiting)
    if waiting:
        raise Conflict("The same content is being changed by others at this moment; send the file again.")
    _complete(submission, items)
    return list(items)


def _complete(submission: Submission, items: Sequence[Item]) -> None:
    """Lets the objects know the keys that their rows got, and what they refer to."""
    first = items[0].position if items else 0
    keys = dict(submission.items.filter(position__gte=first).values_list("position", "pk"))
    for item in items:
        item.pk, item.submission, item.campaign = keys[item.position], submission, submission.campaign
        item._state.adding = False
    twins = [item for item in items if item.duplicate_of_id is not None]
    for start in range(0, len(twins), LOOKUP):
        winners = Prefetch("duplicate_of", Item.objects.defer("measures", "features"))
        prefetch_related_objects(twins[start : start + LOOKUP], winners)


def _insert_live(campaign_id: int, items: list[Item]) -> list[Item]:
    """Saves the first of each content as pending and the rest as its duplicates; returns what lost a race twice."""
    firsts: dict[str, Item] = {}
    for item in items:
        firsts.setdefault(item.original_sha256, item)
    # In ascending order, so that two uploads of the same files wait for each other instead of dead-locking.
    insert_rows([firsts[digest] for digest in sorted(firsts)], ignore_conflicts=True)
    live = find_live(campaign_id, firsts)
    twins, lost = [], []
    for item in items:
        winner = live.get(item.original_sha256)
        if winner is None:
            lost.append(item)
        elif winner.public_id != item.public_id:
            twins.append(as_duplicate(item, winner))
    insert_rows(twins)
    return lost


@dataclass(frozen=True)
class Live:
    """What a duplicate needs to know of the item that has its bytes already."""

    pk: int
    public_id: UUID
    submission_id: int
    name: str


def as_duplicate(item: Item, of: Live) -> Item:
    item.state, item.duplicate_of_id = Item.State.DUPLICATE.value, of.pk
    if of.submission_id == item.submission_id:
        item.reason = f"The same content as “{of.name[:200]}” of this submission."
    else:
        item.reason = "The same content was already received in this campaign."
    return item


def find_live(campaign_id: int, digests: Iterable[str]) -> dict[str, Live]:
    """The live item of each of these original hashes."""
    wanted, found = sorted(digests), {}
    for start in range(0, len(wanted), LOOKUP):
        rows = Item.objects.filter(
            campaign_id=campaign_id, original_sha256__in=wanted[start : start + LOOKUP], state__in=LIVE
        )
        for row in rows.values_list("original_sha256", "pk", "public_id", "submission_id", "name"):
            found[row[0]] = Live(*row[1:])
    return found
