"""The contract's sums, worked out from the events that were indexed: what the chain said, without asking it again."""

from collections.abc import Iterable, Mapping

from ledger.models import ChainEventRow

# What each event adds to the contract's sums. Amounts in nano; the key is the event's argument.
EFFECTS: Mapping[str, tuple[tuple[str, str, int], ...]] = {
    "RewardRecorded": (("recorded", "amount", 1), ("available", "amount", 1)),
    "Unlocked": (("available", "amount", -1), ("credits", "amount", 1)),
    "Locked": (("credits", "maximum", -1), ("locked", "maximum", 1)),
    "Settled": (
        ("locked", "used", -1),
        ("locked", "returned", -1),
        ("credits", "returned", 1),
        ("used", "used", 1),
        ("spent", "used", 1),
    ),
    "WorkerPaid": (("paid", "amount", 1), ("spent", "amount", -1), ("available", "amount", 1)),
    "Released": (("locked", "amount", -1), ("credits", "amount", 1)),
    "Deposited": (("supply", "amount", -1), ("available", "amount", 1)),
    "Withdrawn": (("available", "amount", -1), ("supply", "amount", 1)),
}
SUMS = ("recorded", "available", "credits", "locked", "spent", "supply", "used", "paid")


def add_up(events: Iterable[tuple[str, Mapping]]) -> dict[str, int]:
    """Returns the contract's sums after these events (name, arguments)."""
    sums = dict.fromkeys(SUMS, 0)
    for name, args in events:
        for column, argument, sign in EFFECTS.get(name, ()):
            sums[column] += sign * args[argument]
    return sums


def indexed_totals(chain: str, up_to: int) -> dict[str, int]:
    rows = ChainEventRow.objects.filter(chain=chain, canonical=True, block_number__lte=up_to)
    return add_up(rows.values_list("name", "args").iterator(chunk_size=2000))
