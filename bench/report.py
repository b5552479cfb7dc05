"""The last line of every bench: one JSON object with its figures."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One measured thing beside its peer or limit (None where it is judged by itself). `goal` is in words, empty where
    none was set; `holds` says whether this run reached it."""

    what: str
    ours: float
    peer: float | None
    ratio: float | None
    goal: str
    holds: bool


def print_report(name: str, figures: Sequence[Figure]) -> None:
    print(json.dumps({"name": name, "figures": [asdict(figure) for figure in figures]}, ensure_ascii=False))
