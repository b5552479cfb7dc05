"""A release as a Croissant 1.1 description with the Responsible-AI fields. Pure: facts in, JSON-LD out.

Source: MLCommons Croissant 1.1 and its RAI vocabulary 1.0, http://mlcommons.org/croissant/1.1. No download address
is written, since a release is read through the market; `contentUrl` is the file's name beside this one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]


@dataclass(frozen=True)
class Facts:
    """What the description says beside the manifest. `published` and `collected` are ISO dates."""

    title: str
    description: str
    licence: str
    creator: str
    published: str
    collected: tuple[str, str]
    contributors: int
    consent: str
    attributes: Sequence[Mapping[str, Any]]
    balance: Sequence[str]
    validators: Sequence[str]


def describe(manifest: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """croissant.json of a release whose manifest is given."""
    name = f"{manifest['campaign']}-v{manifest['version']}"
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": facts.description or facts.title,
        "conformsTo": CONFORMS,
        "license": licence_address(facts.licence),
        "creator": {"@type": "sc:Organization", "name": facts.creator},
        "datePublished": facts.published,
        "version": f"{manifest['version']}.0.0",
        "url": f"urn:uuid:{manifest['release']}",
        "citeAs": f"{facts.title}, release {manifest['version']} ({facts.published}), urn:uuid:{manifest['release']}.",
        **_responsible(manifest, facts),
        "distribution": [
            part for file in manifest["files"] for part in _distribution(file, manifest["modality"])
        ],
        "recordSet": [_record_set(file, manifest) for file in manifest["files"]],
    }


def licence_address(licence: str) -> str:
    """The licence's page for SPDX ids of Creative Commons; what is not known stays as written."""
    known = {
        "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
        "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
        "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
        "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    }
    return known.get(licence, licence)


def _responsible(manifest: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    declared = ", ".join(one["name"] for one in facts.attributes) or "none"
    counts = manifest["counts"]
    return {
        "rai:dataCollection": f"Sent in by {facts.contributors} contributors of the campaign “{facts.title}”, who "
        f"agreed to this consent text: {facts.consent or 'none was written'}",
        "rai:dataCollectionType": ["Crowdsourcing"],
        "rai:dataCollectionTimeframe": list(facts.collected),
        "rai:dataAnnotationProtocol": "Each contributor labels their own items with one of: "
        f"{', '.join(manifest['classes'])}. Validators rank the labels by plausibility; people judge what is in doubt.",
        "rai:annotationsPerItem": "1",
        "rai:machineAnnotationTools": list(facts.validators),
        "rai:dataPreprocessingProtocol": [
            "Images are decoded in a sandbox, turned upright, stripped of metadata and written again as PNG; "
            "texts and rows are kept as received."
        ],
        "rai:dataBiases": list(facts.balance) or ["No attribute was declared, so no balance was measured."],
        "rai:dataLimitations": f"{counts['train']} items to train on and {counts['test']} to test on. Near-duplicates "
        "are kept on one side of the split as far as they were found.",
        "rai:personalSensitiveInformation": [f"Declared attributes of items: {declared}."],
        "rai:dataUseCases": ["Training and testing classifiers."],
        "rai:dataReleaseMaintenancePlan": "A release is never changed; corrections make the next one.",
    }


def _distribution(file: Mapping[str, Any], modality: str) -> list[dict[str, Any]]:
    packed = modality == "image"
    whole = {
        "@type": "cr:FileObject",
        "@id": file["name"],
        "name": file["name"],
        "contentUrl": file["name"],
        "contentSize": f"{file['bytes']} B",
        "encodingFormat": "application/zip" if packed else "application/jsonlines",
        "sha256": file["sha256"],
    }
    if not packed:
        return [whole]
    lines = {
        "@type": "cr:FileObject",
        "@id": f"{file['name']}/items.jsonl",
        "name": f"items of {file['name']}",
        "containedIn": {"@id": file["name"]},
        "contentUrl": "items.jsonl",
        "encodingFormat": "application/jsonlines",
    }
    return [whole, lines]


def _record_set(file: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    name = file["name"].partition(".")[0]
    packed = manifest["modality"] == "image"
    source = {"fileObject": {"@id": f"{file['name']}/items.jsonl" if packed else file["name"]}}
    fields = [("id", "The item's id."), ("label", "Its class."), ("split", "train or test.")]
    if packed:
        fields.append(("file", "The picture in the archive."))
    elif manifest["modality"] == "text":
        fields.append(("text", "The text."))
    typed = [
        _field(f"{name}/{column}", said, {**source, "extract": {"column": column}}) for column, said in fields
    ]
    if manifest["modality"] == "tabular":
        typed += [
            _row_field(f"{name}/row-{place}", column, source)
            for place, column in enumerate(manifest["schema"]["columns"])
        ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": typed}


def _row_field(address: str, column: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """A column's name may hold anything, so its place names the field, and the description the column."""
    quoted = json.dumps(column["name"], ensure_ascii=False)
    found = {**source, "extract": {"column": "row"}, "transform": {"jsonPath": f"$.{quoted}"}}
    kind = "sc:Float" if column["type"] == "number" else "sc:Text"
    return _field(address, f"Column “{column['name']}”.", found, kind)


def _field(
    address: str, description: str, source: Mapping[str, Any], kind: str = "sc:Text"
) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": address,
        "name": address,
        "description": description,
        "dataType": kind,
        "source": source,
    }
