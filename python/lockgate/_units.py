"""Quantities with their units, as scenarios have them: `ms(20)` is `"20ms"`."""

from __future__ import annotations

import math
from decimal import Decimal

#: A quantity with its unit, such as `"20ms"` or `"10mbit"`.
Quantity = str

#: A time or a length of time: seconds as a number, or a text with its unit.
Time = float | str


def _number(value: float) -> str:
    """Returns the shortest decimal text of a number, without an exponent.

    Raises:
        ValueError: If it is infinite or no number: no quantity is.
    """
    if not math.isfinite(value):
        raise ValueError(f"`{value}` is not a quantity: it is not finite")
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def s(value: float) -> Quantity:
    """Returns a time in seconds.

    >>> s(10), s(0.25)
    ('10s', '0.25s')
    """
    return f"{_number(value)}s"


def ms(value: float) -> Quantity:
    """Returns a time in milliseconds.

    >>> ms(1.5)
    '1.5ms'
    """
    return f"{_number(value)}ms"


def us(value: float) -> Quantity:
    """Returns a time in microseconds."""
    return f"{_number(value)}us"


def bit(value: float) -> Quantity:
    """Returns a rate in bits per second.

    >>> bit(1e6)
    '1000000bit'
    """
    return f"{_number(value)}bit"


def kbit(value: float) -> Quantity:
    """Returns a rate in thousands of bits per second."""
    return f"{_number(value)}kbit"


def mbit(value: float) -> Quantity:
    """Returns a rate in millions of bits per second.

    >>> mbit(9.5)
    '9.5mbit'
    """
    return f"{_number(value)}mbit"


def gbit(value: float) -> Quantity:
    """Returns a rate in thousands of millions of bits per second."""
    return f"{_number(value)}gbit"


def B(value: float) -> Quantity:
    """Returns a size in bytes."""
    return f"{_number(value)}B"


def kB(value: float) -> Quantity:
    """Returns a size in thousands of bytes."""
    return f"{_number(value)}kB"


def packets(value: int) -> Quantity:
    """Returns a number of packets.

    >>> packets(100)
    '100p'
    """
    return f"{value}p"


def percent(value: float) -> Quantity:
    """Returns a fraction, from 0 to 100.

    >>> percent(0.1)
    '0.1%'
    """
    return f"{_number(value)}%"
