"""What the demo claims, each with the figures behind it: printed at the end, and the exit code."""

from dataclasses import dataclass, field


@dataclass
class Claims:
    """Claims in the order in which they were checked."""

    rows: list[tuple[bool, str, str]] = field(default_factory=list)

    def check(self, holds: bool, claim: str, figures: str) -> None:
        self.rows.append((bool(holds), claim, figures))
        print(f"  {'✓' if holds else '✗'} {claim}: {figures}", flush=True)

    @property
    def all_hold(self) -> bool:
        return bool(self.rows) and all(holds for holds, _, _ in self.rows)

    def print_table(self) -> None:
        width = max(len(claim) for _, claim, _ in self.rows)
        print("\nWhat was checked")
        for holds, claim, figures in self.rows:
            print(f"  {'ok    ' if holds else 'FAILED'} {claim:<{width}}  {figures}")
        failed = sum(not holds for holds, _, _ in self.rows)
        print(f"\n{len(self.rows)} claims, {failed} failed.", flush=True)


def print_rows(title: str, header: tuple[str, ...], rows: list[tuple]) -> None:
    """A plain table, columns as wide as they need be; the first is left-aligned."""
    cells = [header, *[tuple(str(cell) for cell in row) for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]), flush=True)
