"""Writing of TOML: scenarios that are built in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Number as AnyNumber
from typing import TypeGuard, Union

from . import _arguments
from ._arguments import Number
from ._errors import ArgumentError

#: A value of a scenario: a text with its unit, a number, a truth, a list or a table of these. Numbers and arrays of
#: numpy are numbers and lists.
Value = Union[str, bool, Number, Sequence["Value"], Mapping[str, "Value"]]

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: Limit on the length of a list.
_LONGEST = 1_000_000

#: Limit on the depth of lists and tables within each other: no scenario needs as many.
_DEEPEST = 64


def key(name: str) -> str:
    """Returns a key, in quotes if it needs them."""
    name = _arguments.text("a name", name)
    return name if _BARE.fullmatch(name) else text(name)


def text(value: str) -> str:
    """Returns a text in quotes. The escapes of JSON are also those of TOML, except that of DEL."""
    return json.dumps(_arguments.text("a value", value), ensure_ascii=False).replace("\x7f", "\\u007f")


def number(value: object) -> str:
    """Returns a number of TOML. Of a fraction, it is the nearest float."""
    if isinstance(value, int):
        if value.bit_length() > 64:
            raise ArgumentError(f"a value is {_arguments.shown(value)}: no scenario has a number as large")
        return str(value)
    exact = _arguments.exact("a value", value)
    return repr(_arguments.real("a value", exact)) if isinstance(value, (float, Fraction)) else f"{value:f}"


def inline(value: object, depth: int = 0) -> str:
    """Returns a value in one line; `depth` is the number of lists and tables that it is within.

    >>> inline({"kind": "fifo", "limit": "100p", "match": [{"dscp": "EF"}]})
    '{ kind = "fifo", limit = "100p", match = [{ dscp = "EF" }] }'

    Raises:
        ArgumentError: If TOML has no such value, or it contains itself, or is nested too deeply.
    """
    if depth > _DEEPEST:
        raise ArgumentError(f"a value contains itself, or has more than {_DEEPEST} lists and tables within each other")
    value = _arguments.plain(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, AnyNumber) and not isinstance(value, complex):
        return number(value)
    if isinstance(value, Mapping):
        entries = ", ".join(f"{key(name)} = {inline(entry, depth + 1)}" for name, entry in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        if len(value) > _LONGEST:
            raise ArgumentError(f"a list has {len(value)} values, and at most {_LONGEST}")
        return f"[{', '.join(inline(element, depth + 1) for element in value)}]"
    raise ArgumentError(f"a scenario has no values of type `{type(value).__name__}`: {_arguments.shown(value)}")


def _is_tables(value: Value) -> TypeGuard[Sequence[Mapping[str, Value]]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return len(value) > 0 and all(isinstance(element, Mapping) for element in value)


def document(tables: Mapping[str, Value]) -> str:
    """Returns a document: plain values first, then the tables.

    >>> print(document({"link": {"line": {"rate": "1mbit"}}, "title": "a line"}), end="")
    title = "a line"
    <BLANKLINE>
    [link]
    line = { rate = "1mbit" }
    """
    lines = [
        f"{key(name)} = {inline(value)}"
        for name, value in tables.items()
        if not isinstance(value, Mapping) and not _is_tables(value)
    ]
    for name, value in tables.items():
        if isinstance(value, Mapping):
            entries = [f"{key(entry)} = {inline(content)}" for entry, content in value.items()]
            lines += ["", f"[{key(name)}]", *entries]
        elif _is_tables(value):
            for table in value:
                entries = [f"{key(entry)} = {inline(content)}" for entry, content in table.items()]
                lines += ["", f"[[{key(name)}]]", *entries]
    return "\n".join(lines).lstrip("\n") + "\n"


def setting(path: str, value: Value) -> str:
    """Returns a setting, as after `--set`. Texts are written as they are: `"fifo"`, `"10mbit"`.

    >>> setting("link.wan.rate", "10mbit"), setting("port.a:b.queue.q.ecn", True)
    ('link.wan.rate=10mbit', 'port.a:b.queue.q.ecn=true')
    """
    written = _arguments.text("the value", value) if isinstance(value, str) else inline(value)
    return f"{_arguments.text('a path', path)}={written}"
