"""Arguments of the public functions: their kinds are checked in one place, so that every wrong one is an
`ArgumentError` that names it."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, SupportsFloat, SupportsIndex, TypeVar

from ._errors import ArgumentError

T = TypeVar("T")

#: A number of Python or numpy, whole or not; no truth.
Number = SupportsFloat | SupportsIndex

#: Largest seed, number and size that the core has.
LARGEST = 2**64 - 1
#: Power of ten beyond which no float is: of a `Decimal`, so that its digits are not written out.
_LARGEST_EXPONENT = 400


def shown(value: object) -> str:
    """Returns a value for a message: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # Of a number with thousands of digits, or of a class of the user.
        text = object.__repr__(value)
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(name: str) -> str:
    """Returns the name of an argument as messages have it; words such as `a path` are no name."""
    return name if " " in name else f"`{name}`"


def wrong(name: str, value: object, what: str) -> ArgumentError:
    """Returns the error that an argument is not what it has to be."""
    return ArgumentError(f"{named(name)} takes {what}, and not {shown(value)} (`{type(value).__name__}`)")


def not_finite(name: str, value: object) -> ArgumentError:
    """Returns the error that a number is too large, infinite or NaN."""
    return ArgumentError(f"{named(name)} is {shown(value)}: it is not finite")


def plain(value: object) -> object:
    """Returns a number or array of numpy as Python's; anything else as it is. Without importing numpy."""
    if type(value).__module__.partition(".")[0] != "numpy" or not hasattr(value, "dtype"):
        return value
    array: Any = value
    if array.ndim > 0:
        return [plain(one) for one in array]
    # By its text, so that the float32 nearest to 0.1 is 0.1 and not 0.10000000149011612.
    return float(str(array)) if array.dtype.kind == "f" else array.item()


def exact(name: str, value: object) -> Fraction:
    """Returns a finite number as a fraction, of a float that of its shortest text.

    Raises:
        ArgumentError: If it is no number, infinite or NaN.
    """
    value = plain(value)
    if isinstance(value, bool) or isinstance(value, str):
        raise wrong(name, value, "a number")
    if isinstance(value, Fraction):
        return value
    try:
        if isinstance(value, int):
            return Fraction(value)
        number = value if isinstance(value, Decimal) else Decimal(repr(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise wrong(name, value, "a number") from None
    except OverflowError:
        raise not_finite(name, value) from None
    if not number.is_finite() or number.adjusted() > _LARGEST_EXPONENT:
        raise not_finite(name, value)
    return Fraction(number) if number.adjusted() > -_LARGEST_EXPONENT else Fraction(0)


def real(name: str, value: object) -> float:
    """Returns a finite number.

    Raises:
        ArgumentError: If it is none.
    """
    try:
        return float(exact(name, value))
    except OverflowError:
        raise not_finite(name, value) from None


def whole(name: str, value: object, least: int = 0, most: int = LARGEST) -> int:
    """Returns a whole number.

    Raises:
        ArgumentError: If it is none, or outside its range.
    """
    value = plain(value)
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong(name, value, "a whole number") from None
    if not least <= number <= most:
        above = f"from {least} to {most}" if most != LARGEST else f"at least {least}, and below 2^64"
        raise ArgumentError(f"{named(name)} is {shown(number)}: it is {above}")
    return number


def optional_whole(name: str, value: object, least: int = 0) -> int | None:
    """Returns a whole number, or `None`."""
    return None if value is None else whole(name, value, least)


def time(name: str, value: object) -> float | str:
    """Returns a time: seconds, or a text with its unit, which is read later."""
    return text(name, value) if isinstance(value, str) else real(name, value)


def truth(name: str, value: object) -> bool:
    """Returns True or False.

    Raises:
        ArgumentError: If it is neither.
    """
    value = plain(value)
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")
    return value


def text(name: str, value: object) -> str:
    """Returns a text.

    Raises:
        ArgumentError: If it is none, or has half of a character (a lone surrogate).
    """
    if not isinstance(value, str):
        raise wrong(name, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(name, value, "a text of whole characters") from None
    return str(value)


def texts(name: str, values: object) -> list[str]:
    """Returns texts; a single one is a list of one."""
    if isinstance(values, str):
        return [text(name, values)]
    return [text(name, value) for value in several(name, values, "texts")]


def several(name: str, values: object, what: str) -> Iterable[Any]:
    """Returns the values of a list, an array or another iterable; a text or a table is none.

    Raises:
        ArgumentError: If it is none.
    """
    values = plain(values)
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Iterable):
        raise wrong(name, values, f"a list of {what}")
    return values


def mapping(name: str, value: object, what: str) -> Mapping[Any, Any]:
    """Returns a mapping.

    Raises:
        ArgumentError: If it is none.
    """
    if not isinstance(value, Mapping):
        raise wrong(name, value, what)
    return value


def path(name: str, value: object) -> str:
    """Returns the path of a file or directory as text.

    Raises:
        ArgumentError: If it is none, empty, or has a character that no path has.
    """
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str):
        raise wrong(name, value, "a path")
    if not found or "\0" in found:
        raise ArgumentError(f"{named(name)} is {shown(found)}, which names no file")
    return text(name, found)


def seeds(name: str, values: object) -> Iterator[int]:
    """Returns seeds one by one: an endless iterable is read no further than the limit on their number."""
    return (whole("a seed", value) for value in several(name, values, "seeds"))


def instance(name: str, value: object, kind: type[T], what: str) -> T:
    """Returns a value of a class.

    Raises:
        ArgumentError: If it is of another one.
    """
    if not isinstance(value, kind):
        raise wrong(name, value, what)
    return value


def callback(name: str, value: object, what: str) -> Any:
    """Returns a function.

    Raises:
        ArgumentError: If it cannot be called.
    """
    if not callable(value):
        raise wrong(name, value, what)
    return value
