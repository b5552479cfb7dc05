"""Releases: the accepted items of a moment, split by near-duplicate group, as files that never change again."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from marketplace.errors import InvalidInput, MarketError, NotAllowed, NotFound
from marketplace.models import Campaign, Evidence, Item, Modality, Release, ReleaseItem, User
from marketplace.rules import croissant, splitting
from marketplace.rules import evidence as proofs
from marketplace.rules.admission import RECEIPT
from marketplace.selectors.campaigns import attribute_shares
from marketplace.services import storage
from marketplace.services.findings import statement_of
from marketplace.services.queue import enqueue
from marketplace.services.shards import make_shards

log = logging.getLogger("marketplace.releases")
FORMAT = "hydra-release/1"
MAX_SIDE = 128  # what a small network reads; larger pictures are fitted in by the recipe
BATCH = 500


def build_release(campaign: Campaign, *, by: User) -> Release:
    """The next version, in state building; its files are written by a task.

    Raises: NotAllowed unless the campaign is theirs; InvalidInput where nothing was accepted yet.
    """
    if campaign.owner_id != by.pk and not by.is_superuser:
        raise NotAllowed("Only the campaign's owner makes a release.")
    if not campaign.items.filter(state=Item.State.ACCEPTED).exists():
        raise InvalidInput("No item was accepted yet; there is nothing to release.", code="empty_release")
    with transaction.atomic():
        Campaign.objects.select_for_update().get(pk=campaign.pk)  # two releases at once take two numbers
        last = campaign.releases.aggregate(last=Max("version"))["last"] or 0
        release = Release.objects.create(campaign=campaign, version=last + 1, created_by=by)
        enqueue("build_release", release.pk)
    return release


def write_release(release_id: int, *, now: datetime | None = None) -> bool:
    """Chooses the items and writes the files; a run after a crash begins again and gives the same bytes.

    Returns: whether this run made it ready. A fault is written on the release, in words.
    """
    release = Release.objects.select_related("campaign__owner").get(pk=release_id)
    if release.state != Release.State.BUILDING:
        return False
    try:
        entries = _choose(release)
        manifest = _write_files(release, entries)
    except (MarketError, OSError) as error:
        log.warning("release %s failed: %s", release.public_id, error)
        Release.objects.filter(pk=release.pk, state=Release.State.BUILDING).update(
            state=Release.State.FAILED, failure=str(error)[:500]
        )
        return False
    content = proofs.canonical_json(manifest)
    storage.store(f"{folder(release)}/manifest.json", content, replace=True)
    return bool(
        Release.objects.filter(pk=release.pk, state=Release.State.BUILDING).update(
            state=Release.State.READY,
            ready_at=now or timezone.now(),
            manifest=manifest,
            manifest_sha256=sha256(content).hexdigest(),
            train_items=manifest["counts"]["train"],
            test_items=manifest["counts"]["test"],
        )
    )


def folder(release: Release) -> str:
    return f"releases/{release.public_id}"


def release_folder(release: Release) -> Path:
    """For programs on the same machine. Raises: NotFound where files lie in an object store."""
    try:
        return Path(default_storage.path(folder(release)))
    except NotImplementedError as error:
        raise NotFound("The release's files lie in an object store.") from error


def find_file(release: Release, name: str) -> str:
    """The storage key of a release's file. Raises: NotFound for a name that is not one of its files."""
    names = {file["name"] for file in release.manifest.get("files", [])}
    if name not in names | {"manifest.json", "croissant.json", "evidence.jsonl"}:
        raise NotFound
    return f"{folder(release)}/{name}"


def _choose(release: Release) -> dict[str, list[int]]:
    """Fixes the release's items once, by split, in the order of arrival; returns their keys."""
    with transaction.atomic():
        Release.objects.select_for_update().get(pk=release.pk)
        if not release.entries.exists():
            rows = _split(release)
            ReleaseItem.objects.bulk_create(rows, batch_size=BATCH)
    chosen: dict[str, list[int]] = {"train": [], "test": []}
    for split, item in release.entries.order_by("split", "position").values_list("split", "item"):
        chosen[split].append(item)
    return chosen


def _split(release: Release) -> list[ReleaseItem]:
    fields = ("pk", "public_id", "label", "content_sha256", "duplicate_of")
    accepted = release.campaign.items.filter(state=Item.State.ACCEPTED).order_by("pk").values_list(*fields)
    rows = list(accepted)
    groups = _groups(rows)
    entries = [splitting.Entry(str(row[0]), row[2], groups[str(row[0])]) for row in rows]
    sides = splitting.split(entries, salt=release.campaign.slug)
    counters: Counter[str] = Counter()
    chosen = []
    for row in rows:
        side = sides[str(row[0])]
        chosen.append(ReleaseItem(release=release, item_id=row[0], split=side, position=counters[side]))
        counters[side] += 1
    return chosen


def _groups(rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """Joined: equal content, and what was found to be near (`duplicate_of` of items accepted all the same).

    A group is named by its smallest content hash, which is the same wherever the items are imported again.
    """
    keys = [str(row[0]) for row in rows]
    by_content: dict[str, str] = {}
    pairs = []
    for pk, _, _, content, twin in rows:
        if content:
            pairs.append((by_content.setdefault(content, str(pk)), str(pk)))
        if twin:
            pairs.append((str(twin), str(pk)))
    roots = splitting.join_groups(pairs, keys)
    names: dict[str, str] = {}
    for row in rows:
        root, name = roots[str(row[0])], row[3] or str(row[1])
        names[root] = min(names.get(root, name), name)
    return {key: names[root] for key, root in roots.items()}


def _load(keys: Sequence[int]) -> Iterator[Item]:
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        found = Item.objects.filter(pk__in=part).defer("features", "measures").in_bulk()
        yield from (found[key] for key in part)


def _write_files(release: Release, chosen: dict[str, list[int]]) -> dict[str, Any]:
    files = []
    for role in ("train", "test"):
        for shard in make_shards(_load(chosen[role]), role, release.campaign.modality):
            storage.store(f"{folder(release)}/{shard.name}", shard.content, replace=True)
            files.append(shard.as_json())
    manifest = _manifest(release, chosen, files)
    keys = [*chosen["train"], *chosen["test"]]
    description = croissant.describe(manifest, _facts(release, keys))
    storage.store(f"{folder(release)}/croissant.json", proofs.canonical_json(description), replace=True)
    storage.store(f"{folder(release)}/evidence.jsonl", b"".join(_evidence_lines(keys)), replace=True)
    return manifest


def _manifest(release: Release, chosen: dict[str, list[int]], files: list[dict[str, Any]]) -> dict[str, Any]:
    campaign = release.campaign
    return {
        "format": FORMAT,
        "release": str(release.public_id),
        "campaign": campaign.slug,
        "version": release.version,
        "modality": campaign.modality,
        "classes": list(campaign.classes),
        "schema": _schema(campaign, [*chosen["train"], *chosen["test"]]),
        "files": files,
        "counts": {role: len(keys) for role, keys in chosen.items()},
    }


def _schema(campaign: Campaign, keys: list[int]) -> dict[str, Any]:
    """What a model sees of an item, as the recipes read it."""
    if campaign.modality == Modality.IMAGE:
        sides = [max(width or 0, height or 0) for width, height in _chunked(keys, "width", "height")]
        side = max(4, min(MAX_SIDE, round(median(sides))))
        return {"channels": campaign.image_channels, "side": side}
    if campaign.modality == Modality.TABULAR:
        return {"columns": _columns(campaign, keys)}
    return {}


def _columns(campaign: Campaign, keys: list[int]) -> list[dict[str, Any]]:
    """Columns of categories get the values that occur, where the campaign listed none."""
    open_columns = [c["name"] for c in campaign.columns if c["type"] == "category" and not c.get("values")]
    seen: dict[str, set[str]] = defaultdict(set)
    if open_columns:
        for (row,) in _chunked(keys, "row"):
            for name in open_columns:
                if row.get(name) is not None:
                    seen[name].add(str(row[name]))
    return [
        {"name": c["name"], "type": c["type"], "values": list(c.get("values") or sorted(seen[c["name"]]))}
        for c in campaign.columns
    ]


def _chunked(keys: Sequence[int], *fields: str) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(keys), BATCH):
        yield from Item.objects.filter(pk__in=keys[start : start + BATCH]).order_by("pk").values_list(*fields)


def _facts(release: Release, keys: list[int]) -> croissant.Facts:
    campaign = release.campaign
    entries = Item.objects.filter(releases__release=release)
    span = entries.aggregate(first=Min("created_at"), last=Max("created_at"))
    checked = Evidence.objects.filter(item__releases__release=release).exclude(validator=RECEIPT).order_by()
    versions = sorted(set(checked.values_list("validator", "version")))
    return croissant.Facts(
        title=campaign.title,
        description=campaign.description,
        licence=campaign.licence,
        creator=campaign.owner.shown_name,
        published=release.created_at.date().isoformat(),
        collected=(span["first"].date().isoformat(), span["last"].date().isoformat()),
        contributors=entries.order_by().values("contributor").distinct().count(),
        consent=campaign.consent_text,
        attributes=campaign.attributes,
        balance=_balance(campaign),
        validators=[f"{name} {version}" for name, version in versions],
    )


def _balance(campaign: Campaign) -> list[str]:
    """One sentence for each declared value: its share beside its target."""
    return [
        f"{one.name} = {value}: {share:.1%} of the accepted items"
        + (f", target {target:.1%}." if target is not None else ".")
        for one in attribute_shares(campaign)
        for value, _, share, target in one.rows
    ]


def _evidence_lines(keys: Sequence[int]) -> Iterator[bytes]:
    """One line per evidence row behind a reward, with the Merkle proof to the root that the ledger committed to."""
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        ids = dict(Item.objects.filter(pk__in=part).values_list("pk", "public_id"))
        rows: dict[int, list[Evidence]] = defaultdict(list)
        for row in Evidence.objects.filter(item__in=part).order_by("pk"):
            rows[row.item_id].append(row)  # type: ignore[index]
        for key in part:
            yield from _lines_of(f"item:{ids[key]}", behind_reward(rows[key]))


def behind_reward(rows: Iterable[Evidence]) -> list[Evidence]:
    """The rows under the newest receipt's root: all up to it, without receipts of earlier acceptances."""
    ordered = list(rows)
    last = max((index for index, row in enumerate(ordered) if row.validator == RECEIPT), default=None)
    if last is None:
        return ordered
    return [row for row in ordered[:last] if row.validator != RECEIPT] + [ordered[last]]


def _lines_of(subject: str, rows: Sequence[Evidence]) -> Iterator[bytes]:
    digests = [row.digest for row in rows]
    root = proofs.root_of(digests).hex()
    for row in rows:
        line = {
            "digest": row.digest,
            "root": root,
            "proof": proofs.proof_of(digests, row.digest),
            "statement": statement_of(row, subject).as_json(),
        }
        yield proofs.canonical_json(line) + b"\n"
