"""What an accepted item is worth: base × quality × novelty × scarcity, each factor with the sentence that explains it.

Units: amounts in nano HYD, factors as numbers with six decimals. The product is computed on whole numbers and cut
down to a whole nano, so that the same evidence gives the same amount on every machine.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VERSION = "1"  # a change of formula gets a new number; the old one stays executable
MILLION = 10**6
ROUNDING = "Factors have six decimals; the product is cut down to a whole nano (10⁻⁹ HYD)."


@dataclass(frozen=True)
class Factor:
    """`value` multiplies the base; `why` is for the receipt."""

    name: str
    value: float
    why: str

    @property
    def millionths(self) -> int:
        return max(0, round(self.value * MILLION))


@dataclass(frozen=True)
class Reward:
    """`amount` in nano, after the cap; `factors` in the order of multiplication."""

    base: int
    factors: tuple[Factor, ...]
    cap_factor: float
    amount: int
    capped: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "formula": "base × quality × novelty × scarcity",
            "base": self.base,
            "factors": [
                {"name": f.name, "value": f.millionths / MILLION, "why": f.why} for f in self.factors
            ],
            "cap": round(self.cap_factor * MILLION) / MILLION,
            "capped": self.capped,
            "amount": self.amount,
            "rounding": ROUNDING,
        }


def price(base: int, factors: Sequence[Factor], *, cap_factor: float) -> Reward:
    """The reward in nano: base times the factors, at most base times `cap_factor`.

    >>> price(10**9, [Factor("quality", 0.5, ""), Factor("scarcity", 1.5, "")], cap_factor=2).amount
    750000000
    """
    numerator, denominator = base, 1
    for factor in factors:
        numerator, denominator = numerator * factor.millionths, denominator * MILLION
    amount = numerator // denominator
    ceiling = base * round(cap_factor * MILLION) // MILLION
    return Reward(base, tuple(factors), cap_factor, min(amount, ceiling), amount > ceiling)


def recompute(receipt: Mapping[str, Any]) -> int:
    """The amount that a receipt's own numbers give: for anyone who wants to check one. Raises: KeyError, TypeError."""
    factors = [Factor(one["name"], one["value"], one["why"]) for one in receipt["factors"]]
    return price(receipt["base"], factors, cap_factor=receipt["cap"]).amount


def quality_factor(technical: float | None, label: float | None, *, by_person: bool) -> Factor:
    """The mean of the technical and the label score. A person's acceptance settles the label, so its doubt drops out."""
    scores = [("technical", technical)] + ([] if by_person else [("label", label)])
    known = [(name, score) for name, score in scores if score is not None]
    if not known:
        return Factor("quality", 1.0, "No validator gave a score; full quality is assumed.")
    value = sum(score for _, score in known) / len(known)
    parts = " and ".join(f"{name} score {score:.2f}" for name, score in known)
    settled = "; a moderator settled the label" if by_person and label is not None else ""
    return Factor("quality", round(value, 6), f"Mean of {parts}{settled}.")


def novelty_factor(novelty: float | None) -> Factor:
    """1 for what nothing else resembles, less for what is close to something already there."""
    if novelty is None:
        return Factor("novelty", 1.0, "Nothing to compare with.")
    value = min(1.0, max(0.0, novelty))
    if value >= 0.995:
        return Factor("novelty", 1.0, "Resembles nothing already received.")
    return Factor("novelty", round(value, 6), f"Similar to something already received (novelty {value:.2f}).")


@dataclass(frozen=True)
class Balance:
    """One declared attribute: how many accepted items carry each value, and how many this submission would add."""

    name: str
    targets: Mapping[str, float]
    accepted: Mapping[str, int]
    added: Mapping[str, int]


def scarcity_factor(
    attributes: Mapping[str, str], balances: Sequence[Balance], policy: Mapping[str, Any]
) -> Factor:
    """The measured effect of the item's groups on the campaign's balance; the mean over its declared attributes.

    A group's factor is 1 + s × d, where d in [-1, 1] is its missing share relative to its target, averaged over the
    accepted set before and after the whole submission: what a submission fills up is worth less to its own items, and
    their order changes nothing. Without enough accepted items the factor is 1.
    """
    carried = [(attributes.get(balance.name, ""), balance) for balance in balances]
    measured = [_effect(group, balance, policy) for group, balance in carried if group in balance.targets]
    effects = [effect for effect in measured if effect is not None]
    if not effects:
        return Factor("scarcity", 1.0, "No target share applies to this item yet.")
    value = sum(number for number, _ in effects) / len(effects)
    return Factor("scarcity", round(value, 6), " ".join(why for _, why in effects))


def _effect(value: str, balance: Balance, policy: Mapping[str, Any]) -> tuple[float, str] | None:
    before = sum(balance.accepted.values())
    if before < policy["scarcity_items_min"] or balance.targets[value] <= 0:
        return None
    after = before + sum(balance.added.values())
    target = balance.targets[value]
    share = balance.accepted.get(value, 0) / before
    share_after = (balance.accepted.get(value, 0) + balance.added.get(value, 0)) / after
    missing = (target - (share + share_after) / 2) / target
    number = 1 + policy["scarcity_strength"] * min(1.0, max(-1.0, missing))
    why = (
        f"{balance.name} = {value}: {share:.0%} of the accepted items before and {share_after:.0%} after this "
        f"submission, target {target:.0%} (×{number:.2f})."
    )
    return number, why


def count_values(rows: Sequence[Mapping[str, str]], name: str) -> Counter[str]:
    """How often each value of one attribute occurs; rows without it are left out."""
    return Counter(row[name] for row in rows if row.get(name))
