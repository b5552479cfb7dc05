"""HYD as people read and write it. Amounts are whole numbers of nano (10⁻⁹ HYD) everywhere else."""

import re

NANO = 10**9
MAX_NANO = 2**63 - 1  # what a 64-bit column holds
_DECIMAL = re.compile(r"[+-]?\d{1,12}(\.\d{0,9})?|[+-]?\.\d{1,9}", re.ASCII)


class AmountError(ValueError):
    """The text is not an amount of HYD: fix the input."""

    def __init__(self, text: str, expected: str) -> None:
        self.text, self.expected = text, expected
        super().__init__(f"{text!r} is not an amount: {expected}.")


def format_hyd(nano: int, *, digits: int = 9) -> str:
    """The shortest exact decimal, such as "1.25"; with fewer `digits` it is cut toward zero, never rounded up.

    >>> format_hyd(1_250_000_000), format_hyd(-1), format_hyd(1_999_999_999, digits=2)
    ('1.25', '-0.000000001', '1.99')
    """
    whole, part = divmod(abs(nano), NANO)
    fraction = f"{part:09d}"[:digits].rstrip("0")
    text = f"{whole}.{fraction}" if fraction else str(whole)
    return f"-{text}" if nano < 0 and text.strip("0.") else text


def parse_hyd(text: str, *, minimum: int = 0) -> int:
    """Nano of a decimal such as "1.25"; more than nine decimals are refused, since cutting them would lose money.

    Raises: AmountError.
    """
    cleaned = text.strip().replace(" ", "")
    if not _DECIMAL.fullmatch(cleaned):
        raise AmountError(text, "write a decimal number of HYD with at most nine decimals, such as 1.25")
    whole, _, fraction = cleaned.lstrip("+-").partition(".")
    nano = int(whole or "0") * NANO + int(fraction.ljust(9, "0") or "0")
    nano = -nano if cleaned.startswith("-") else nano
    if nano < minimum:
        raise AmountError(text, f"at least {format_hyd(minimum)} HYD")
    if nano > MAX_NANO:
        raise AmountError(text, f"at most {format_hyd(MAX_NANO)} HYD")
    return nano
