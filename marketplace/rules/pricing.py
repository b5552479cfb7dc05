"""What a job costs and who gets it: charged by samples, 90 % to volunteers, 10 % burned. Units: nano."""

from collections.abc import Mapping
from dataclasses import dataclass

WORKER_TENTHS = 9  # of ten; the remaining tenth is burned, which pays for the platform by scarcity


@dataclass(frozen=True)
class Settlement:
    """`charged` = Σ payouts + `burned`, exactly."""

    charged: int
    payouts: Mapping[str, int]
    burned: int


def charge(samples: int, nano_per_sample: int) -> int:
    return samples * nano_per_sample


def samples_paid_by(credit_limit: int, nano_per_sample: int) -> int:
    """How many samples a limit pays for; 0 where it does not pay for one."""
    return credit_limit // nano_per_sample if nano_per_sample > 0 else 0


def settle(charged: int, samples: Mapping[str, int]) -> Settlement:
    """Divides nine tenths of the charge by samples, by largest remainder, so that the parts sum exactly.

    Ties of remainders go to the smaller name: anybody gets the same division from the same records.
    With nobody to pay, all of it is burned.

    >>> settle(100, {"a": 1, "b": 1, "c": 1}).payouts
    {'a': 30, 'b': 30, 'c': 30}
    >>> settle(11, {"a": 2, "b": 1}).payouts, settle(11, {"a": 2, "b": 1}).burned
    ({'a': 6, 'b': 3}, 2)
    """
    total = sum(samples.values())
    if total == 0:
        return Settlement(charged, {}, charged)
    pool = charged * WORKER_TENTHS // 10
    payouts = {name: pool * count // total for name, count in samples.items()}
    left = pool - sum(payouts.values())
    by_remainder = sorted(samples, key=lambda name: (-(pool * samples[name] % total), name))
    for name in by_remainder[:left]:
        payouts[name] += 1
    return Settlement(charged, payouts, charged - pool)
