"""A person's money as the dashboard shows it: each amount with the page of its rows, each cell with its form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from ledger.service import Balances

MONEY_COLUMNS = {"Reward", "Amount", "Charged"}
STATE_KINDS = {"jobs": "job", "peers": "peer"}
ID_PAGES = {"jobs": "web:job"}


@dataclass(frozen=True)
class Money:
    """`amount` in nano; `href` leads to the rows that it sums."""

    label: str
    amount: int
    note: str
    tone: str
    href: str


def money_figures(balances: Balances) -> list[Money]:
    """The way of a token from earned to spent, in order."""
    statement, jobs = reverse("web:statement"), reverse("web:jobs")
    return [
        Money(
            _("Pending"), balances.pending, _("HYD earned, not final yet"), "info", f"{statement}?kind=reward"
        ),
        Money(_("Available"), balances.available, _("HYD to unlock"), "good", statement),
        Money(_("Credits"), balances.credits, _("ready for jobs"), "brand", f"{statement}?kind=unlock"),
        Money(
            _("Locked"), balances.locked, _("credits set aside for jobs"), "accent", f"{statement}?kind=lock"
        ),
        Money(_("Spent"), balances.spent, _("credits used by jobs"), "plain", jobs),
        Money(
            _("On chain"),
            balances.on_chain,
            _("HYD of rewards confirmed"),
            "good",
            f"{statement}?kind=reward",
        ),
    ]


@dataclass(frozen=True)
class Cell:
    """`form`: text, money, state, ledger or link; `kind` names the table of states, `href` the link's target."""

    value: Any
    form: str = "text"
    kind: str = ""
    href: str = ""


def cells_of(key: str, columns: Sequence[str], row: Sequence[Any]) -> list[Cell]:
    """How each value of a figure's row is shown, by the name of its column."""
    return [_cell(key, column, value) for column, value in zip(columns, row, strict=True)]


def _cell(key: str, column: str, value: Any) -> Cell:
    if column in MONEY_COLUMNS:
        return Cell(value, "money")
    if column == "State":
        return Cell(value, "state", STATE_KINDS.get(key, "item"))
    if column == "Status":
        return Cell(value, "state", "ledger")
    if column == "Id":
        return Cell(_("Open"), "link", href=reverse(ID_PAGES.get(key, "web:submission-item"), args=[value]))
    return Cell("–" if value in (None, "") else value)
