"""What every command is given: its options, the SDK (opened when first used), and how to print."""

import argparse
import json
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from client.credentials import Access, choose
from client.hydra import Hydra

Subcommands = Any  # argparse's _SubParsersAction, which has no public name
REDRAW_S = 0.1
_NUMBER = re.compile(r"-?[0-9][0-9,.]*")


class Output:
    """Results on stdout, progress and complaints on stderr. Control characters in what others wrote are shown as �."""

    def __init__(self, *, as_json: bool, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.as_json = as_json
        self._stdout, self._stderr = stdout or sys.stdout, stderr or sys.stderr

    def result(self, answer: Any, show: Callable[[], None]) -> None:
        """The answer as JSON, or as `show` prints it."""
        if self.as_json:
            print(json.dumps(answer, ensure_ascii=False, indent=2), file=self._stdout)
        else:
            show()

    def line(self, text: str = "") -> None:
        print(printable(text), file=self._stdout)

    def note(self, text: str) -> None:
        """Progress in words; silent with --json."""
        if not self.as_json:
            print(printable(text), file=self._stderr, flush=True)

    def complain(self, text: str) -> None:
        print(printable(text), file=self._stderr)

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str) -> None:
        """Columns aligned; those of numbers only to the right. `empty` says what to do where there are no rows."""
        if not rows:
            self.line(empty)
            return
        cells = [[printable(_cell(value)) for value in row] for row in rows]
        widths = [max(_width(row[column]) for row in [list(titles), *cells]) for column in range(len(titles))]
        is_number = [all(_NUMBER.fullmatch(row[column]) for row in cells) for column in range(len(titles))]
        for row in [list(titles), *cells]:
            parts = [
                " " * (width - _width(text)) + text if right else text + " " * (width - _width(text))
                for text, width, right in zip(row, widths, is_number, strict=True)
            ]
            self.line("  ".join(parts).rstrip())

    def facts(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Name and value, one pair a line; values that are absent are left out."""
        shown = [(name, _cell(value)) for name, value in pairs if value not in (None, "")]
        width = max(len(name) for name, _ in shown)
        for name, value in shown:
            self.line(f"{name:<{width}}  {value}")

    def bar(self, unit: str, total: int) -> "Bar":
        return Bar(self, self._stderr, unit, total)


class Bar:
    """Progress: one redrawn line on a terminal, else a plain line at each tenth."""

    def __init__(self, out: Output, stream: TextIO, unit: str, total: int) -> None:
        self._out, self._stream, self._unit, self._total = out, stream, unit, total
        self._is_terminal = stream.isatty() and not out.as_json
        self._tenth, self._drawn_at = 0, 0.0

    def at(self, done: int, detail: str = "") -> None:
        if self._is_terminal:
            now = time.monotonic()
            if done == self._total or now - self._drawn_at >= REDRAW_S:
                self._drawn_at = now
                self._draw(done, detail)
        elif self._total and (tenth := 10 * done // self._total) > self._tenth:
            self._tenth = tenth
            self._out.note(f"{done:,} of {self._total:,} {self._unit}" + (f", {detail}" if detail else ""))

    def end(self) -> None:
        if self._is_terminal:
            print(file=self._stream)

    def _draw(self, done: int, detail: str) -> None:
        columns = shutil.get_terminal_size().columns
        full = 20 * done // self._total if self._total else 20
        text = f"[{'#' * full}{'.' * (20 - full)}] {done:,}/{self._total:,} {self._unit}  {printable(detail)}"
        print("\r" + text[: columns - 1].ljust(columns - 1), end="", file=self._stream, flush=True)


@dataclass
class Cli:
    """One run of the command. `connect` is an argument so that tests can put an API in the same process."""

    options: argparse.Namespace
    out: Output
    environment: Mapping[str, str]
    credentials: Path
    connect: Callable[[Access], Hydra] = field(default=lambda access: Hydra(access.url, access.token))
    _hydra: Hydra | None = None

    @property
    def access(self) -> Access:
        return choose(self.credentials, self.environment, self.options.url)

    @property
    def hydra(self) -> Hydra:
        if self._hydra is None:
            self._hydra = self.connect(self.access)
        return self._hydra

    def close(self) -> None:
        if self._hydra is not None:
            self._hydra.close()


def printable(text: str) -> str:
    """Without what would move a terminal's cursor or colour its text; line ends and tabs stay."""
    return "".join(
        one if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") else "�" for one in text
    )


def count(text: str) -> int:
    """An argparse type: a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text!r}")
    return int(text)


def number(value: float) -> str:
    """Never in powers of ten above 1: whole numbers and large ones in full, others to three digits.

    >>> [number(value) for value in (1090.0, 99.94, 0.004, 300, 1_234_567)]
    ['1,090', '99.9', '0.004', '300', '1,234,567']
    """
    is_whole = isinstance(value, int) or abs(value) >= 99.95
    return f"{value:,.0f}" if is_whole else f"{value:.3g}"


def money(amount: Mapping[str, Any]) -> str:
    return f"{amount['hyd']} HYD"


def moment(iso: str | None) -> str:
    """To the minute, UTC as the API writes it."""
    return (iso or "")[:16].replace("T", " ")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)
