"""Reads a release's shard files and refuses whatever is not as manifest.json says. No torch.

Only stored (uncompressed) archives are read, so a shard can never unpack to more than its own, hash-checked size.
What the values mean (pixels, words, columns) is left to each recipe.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from trainer.recipes.errors import RecipeError, ShardError

FORMAT = "hydra-release/1"
LINE_BYTES = 16 * 2**20  # a text item has at most a few MB; beyond this a "line" is damage


@dataclass(frozen=True)
class Sample:
    """One line of a shard. `content` is PNG bytes, a text, or a row, by the release's modality."""

    id: str
    label: int
    content: Any
    file: str
    line: int

    def refuse(self, message: str) -> NoReturn:
        raise ShardError(self.file, self.line, message)


@dataclass(frozen=True)
class _Shard:
    """A file of the release beside its entry in the manifest."""

    path: Path
    role: str
    items: int | None
    modality: str
    labels: Mapping[str, int]


def check_manifest(manifest: Mapping[str, Any], modality: str) -> None:
    """Raises: RecipeError, where this is no release of that modality."""
    if manifest.get("format") != FORMAT:
        raise RecipeError(
            "release", f"The manifest's format is {manifest.get('format')!r}; this version reads {FORMAT}."
        )
    if manifest.get("modality") != modality:
        raise RecipeError(
            "recipe",
            f"The release holds {manifest.get('modality')} items, and this recipe trains on {modality} items.",
        )
    check_classes(manifest.get("classes"))
    files = manifest.get("files")
    if not isinstance(files, list) or not all(
        isinstance(one, dict) and {"name", "role"} <= one.keys() for one in files
    ):
        raise RecipeError("release", "The manifest's files must be a list of objects with a name and a role.")
    if not isinstance(manifest.get("schema"), Mapping):
        raise RecipeError("release", "The manifest's schema must be an object.")


def check_classes(classes: Any) -> tuple[str, ...]:
    """Raises: RecipeError, unless these are two or more different names."""
    good = isinstance(classes, list | tuple) and all(isinstance(name, str) for name in classes)
    if not good or len(set(classes)) != len(classes) or len(classes) < 2:
        raise RecipeError(
            "classes", f"A classifier needs two or more different class names, not {classes!r}."
        )
    return tuple(classes)


def read_samples(paths: Sequence[Path], manifest: Mapping[str, Any]) -> Iterator[Sample]:
    """The samples of these files, in the manifest's order of files and the files' order of lines.

    That order, over all train files, is what the sampler's indices count, whatever order `paths` come in.
    Raises: ShardError, naming file and line.
    """
    seen: dict[str, str] = {}
    for shard in _in_manifest_order(paths, manifest):
        count = 0
        for sample in _read_zip(shard) if shard.modality == "image" else _read_jsonl(shard):
            if sample.id in seen:
                sample.refuse(f"the item {sample.id} was already at {seen[sample.id]}")
            seen[sample.id] = f"{sample.file}:{sample.line}"
            count += 1
            yield sample
        if shard.items is not None and count != shard.items:
            raise ShardError(
                shard.path.name, None, f"holds {count} items, and the manifest says {shard.items}"
            )


def _in_manifest_order(paths: Sequence[Path], manifest: Mapping[str, Any]) -> list[_Shard]:
    labels = {name: index for index, name in enumerate(manifest["classes"])}
    here = {Path(path).name: Path(path) for path in paths}
    entries = {entry["name"]: entry for entry in manifest["files"]}
    if strange := sorted(here.keys() - entries.keys()):
        raise ShardError(strange[0], None, f"is not in the manifest, which lists: {', '.join(entries)}")
    return [
        _Shard(here[name], entry["role"], entry.get("items"), manifest["modality"], labels)
        for name, entry in entries.items()
        if name in here
    ]


def _read_zip(shard: _Shard) -> Iterator[Sample]:
    name = shard.path.name
    try:
        with zipfile.ZipFile(shard.path) as archive:
            if packed := [info.filename for info in archive.infolist() if _is_packed(info)]:
                raise ShardError(
                    name,
                    None,
                    f"{packed[0]} is compressed or encrypted; a shard stores its files as they are",
                )
            members = set(archive.namelist())
            if "items.jsonl" not in members:
                raise ShardError(name, None, "holds no items.jsonl")
            with archive.open("items.jsonl") as lines:
                for line, fields in _lines(f"{name}/items.jsonl", lines):
                    sample = _sample(shard, f"{name}/items.jsonl", line, fields, "file", str)
                    if sample.content not in members:
                        sample.refuse(
                            f"names the picture {sample.content!r}, which the archive does not hold"
                        )
                    picture = archive.read(sample.content)
                    yield Sample(sample.id, sample.label, picture, sample.file, sample.line)
    except FileNotFoundError:
        raise ShardError(name, None, "is not there") from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OSError) as exc:
        raise ShardError(name, None, f"is not a readable zip archive ({exc})") from exc


def _is_packed(info: zipfile.ZipInfo) -> bool:
    return info.compress_type != zipfile.ZIP_STORED or bool(info.flag_bits & 1)


def _read_jsonl(shard: _Shard) -> Iterator[Sample]:
    name = shard.path.name
    field, kind = ("text", str) if shard.modality == "text" else ("row", dict)
    try:
        with shard.path.open("rb") as lines:
            for line, fields in _lines(name, lines):
                yield _sample(shard, name, line, fields, field, kind)
    except FileNotFoundError:
        raise ShardError(name, None, "is not there") from None


def _lines(file: str, stream: BinaryIO | Any) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    while raw := stream.readline(LINE_BYTES + 1):
        number += 1
        if len(raw) > LINE_BYTES:
            raise ShardError(file, number, f"is longer than {LINE_BYTES:,} bytes")
        yield number, parse_object(file, number, raw)


def parse_object(file: str, line: int, raw: bytes) -> dict[str, Any]:
    """Raises: ShardError, where the line is no JSON object, or holds NaN or infinity."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not a number that JSON knows")

    try:
        fields = json.loads(raw, parse_constant=refuse)
    except (ValueError, RecursionError) as exc:
        raise ShardError(file, line, f"is not JSON ({exc})") from exc
    if not isinstance(fields, dict):
        raise ShardError(file, line, 'must be an object, such as {"id": …, "label": …}')
    return fields


def _sample(shard: _Shard, file: str, line: int, fields: dict[str, Any], content: str, kind: type) -> Sample:
    for name, wanted in (("id", str), ("label", str), ("split", str), (content, kind)):
        if not isinstance(fields.get(name), wanted):
            what = "an object" if wanted is dict else "a string"
            raise ShardError(file, line, f"needs {name!r} as {what}, not {fields.get(name)!r}")
    if fields["split"] != shard.role:
        raise ShardError(file, line, f"is of the split {fields['split']!r}, in a file for {shard.role!r}")
    if fields["label"] not in shard.labels:
        raise ShardError(
            file, line, f"has the label {fields['label']!r}; the classes are: {', '.join(shard.labels)}"
        )
    return Sample(fields["id"], shard.labels[fields["label"]], fields[content], file, line)
