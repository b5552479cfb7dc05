"""Train and test by near-duplicate group: no group is cut in two, and the same items always split the same way."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

TEST_SHARE = 0.2


@dataclass(frozen=True)
class Entry:
    """An accepted item. Items that resemble each other carry the same `group`."""

    key: str
    label: str
    group: str


def split(entries: Sequence[Entry], *, salt: str, test_share: float = TEST_SHARE) -> dict[str, str]:
    """Maps each key to "train" or "test", about `test_share` of every label, as far as whole groups allow.

    Groups are ordered by a hash of salt and name, so that neither the order of arrival nor the number of items
    decides who is tested. A label with a single group stays in train: a test of the unlearnt says nothing.
    """
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.group].append(entry)
    by_label: dict[str, list[str]] = defaultdict(list)
    for name, members in groups.items():
        by_label[_main_label(members)].append(name)
    tested = {name for names in by_label.values() for name in _pick(names, groups, salt, test_share)}
    return {entry.key: "test" if entry.group in tested else "train" for entry in entries}


def _main_label(members: Sequence[Entry]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for entry in members:
        counts[entry.label] += 1
    return min(counts, key=lambda label: (-counts[label], label))


def _pick(names: list[str], groups: Mapping[str, list[Entry]], salt: str, share: float) -> list[str]:
    if len(names) < 2:
        return []
    ordered = sorted(names, key=lambda name: sha256(f"{salt}:{name}".encode()).digest())
    wanted = max(1, round(share * sum(len(groups[name]) for name in names)))
    picked: list[str] = []
    taken = 0
    for name in ordered[:-1]:  # at least one group is left to learn from
        size = len(groups[name])
        if taken and abs(taken + size - wanted) > abs(taken - wanted):
            continue
        picked.append(name)
        taken += size
        if taken >= wanted:
            break
    return picked


def join_groups(pairs: Iterable[tuple[str, str]], keys: Iterable[str]) -> dict[str, str]:
    """Group names of keys that are connected by pairs of near-duplicates (union-find; the smallest key names it)."""
    parent = {key: key for key in keys}

    def find(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for left, right in pairs:
        if left in parent and right in parent:
            low, high = sorted((find(left), find(right)))
            parent[high] = low
    return {key: find(key) for key in parent}
