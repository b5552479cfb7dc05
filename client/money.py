"""HYD as people write it, nano (10⁻⁹ HYD) as the API takes it; exact both ways."""

from decimal import Decimal, InvalidOperation

from client.errors import ConfigurationError

NANO = 10**9


def to_nano(hyd: str) -> int:
    """Raises: ConfigurationError, where this is no positive amount with at most nine decimals."""
    try:
        amount = Decimal(hyd) * NANO
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or amount <= 0 or amount != amount.to_integral_value():
        raise ConfigurationError(
            f"{hyd!r} is not an amount: write HYD with at most nine decimals, such as 12 or 0.5."
        )
    return int(amount)


def to_hyd(nano: int) -> str:
    """The shortest exact decimal, such as "1.25"."""
    whole, part = divmod(abs(nano), NANO)
    fraction = f"{part:09d}".rstrip("0")
    return ("-" if nano < 0 else "") + str(whole) + (f".{fraction}" if fraction else "")
