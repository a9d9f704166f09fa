"""Quantities with their units, as scenarios have them: `ms(20)` is `"20ms"`.

Every function takes numbers of Python and of numpy, `Decimal` and `Fraction`, and rounds to what a scenario can
represent: times to picoseconds, rates to bits per second, sizes to bytes, percents to millionths of one.
"""

from __future__ import annotations

from . import _arguments
from ._arguments import Number
from ._errors import ArgumentError

#: A quantity with its unit, such as `"20ms"` or `"10mbit"`.
Quantity = str

#: A time or a length of time: seconds as a number, or a text with its unit.
Time = Number | str


def _quantity(value: Number, unit: str, places: int) -> Quantity:
    """Returns a number with a unit, rounded to so many decimal places.

    Raises:
        ArgumentError: If it is no number, not finite, below zero or too large.
    """
    number = _arguments.exact(unit, value)
    if number < 0:
        raise ArgumentError(f"`{_arguments.shown(value)}{unit}` is not a quantity: it is below zero")
    scaled = round(number * 10**places)
    if scaled > 10**30:
        raise ArgumentError(f"`{_arguments.shown(value)}{unit}` is not a quantity: it is too large")
    whole, rest = divmod(scaled, 10**places)
    digits = f"{rest:0{places}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}"


def s(value: Number) -> Quantity:
    """Returns a time in seconds, to the picosecond.

    >>> s(10), s(0.25)
    ('10s', '0.25s')
    """
    return _quantity(value, "s", 12)


def ms(value: Number) -> Quantity:
    """Returns a time in milliseconds, to the picosecond.

    >>> ms(1.5), ms(0.1 + 0.2), ms(20 / 3)
    ('1.5ms', '0.3ms', '6.666666667ms')
    """
    return _quantity(value, "ms", 9)


def us(value: Number) -> Quantity:
    """Returns a time in microseconds, to the picosecond."""
    return _quantity(value, "us", 6)


def bit(value: Number) -> Quantity:
    """Returns a rate in bits per second, a whole number of them.

    >>> bit(1e6)
    '1000000bit'
    """
    return _quantity(value, "bit", 0)


def kbit(value: Number) -> Quantity:
    """Returns a rate in thousands of bits per second, to the bit."""
    return _quantity(value, "kbit", 3)


def mbit(value: Number) -> Quantity:
    """Returns a rate in millions of bits per second, to the bit.

    >>> mbit(9.5), mbit(1 / 3)
    ('9.5mbit', '0.333333mbit')
    """
    return _quantity(value, "mbit", 6)


def gbit(value: Number) -> Quantity:
    """Returns a rate in thousands of millions of bits per second, to the bit."""
    return _quantity(value, "gbit", 9)


def B(value: Number) -> Quantity:
    """Returns a size in bytes, a whole number of them."""
    return _quantity(value, "B", 0)


def kB(value: Number) -> Quantity:
    """Returns a size in thousands of bytes, to the byte."""
    return _quantity(value, "kB", 3)


def packets(value: Number) -> Quantity:
    """Returns a number of packets, a whole one.

    >>> packets(100)
    '100p'
    """
    return _quantity(value, "p", 0)


def percent(value: Number) -> Quantity:
    """Returns a fraction, from 0 to 100.

    >>> percent(0.1)
    '0.1%'
    """
    return _quantity(value, "%", 6)
