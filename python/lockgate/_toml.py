"""Writing of TOML: scenarios that are built in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard, Union

#: A value of a scenario: a text with its unit, a number, a truth, a list or a table of these.
Value = Union[str, bool, int, float, Sequence["Value"], Mapping[str, "Value"]]

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: Limit on the depth of lists and tables within each other: no scenario needs as many.
_DEEPEST = 64


def key(name: str) -> str:
    """Returns a key, in quotes if it needs them."""
    return name if _BARE.fullmatch(name) else text(name)


def text(value: str) -> str:
    """Returns a text in quotes. The escapes of JSON are also those of TOML, except that of DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline(value: Value, depth: int = 0) -> str:
    """Returns a value in one line; `depth` is the number of lists and tables that it is within.

    >>> inline({"kind": "fifo", "limit": "100p", "match": [{"dscp": "EF"}]})
    '{ kind = "fifo", limit = "100p", match = [{ dscp = "EF" }] }'

    Raises:
        TypeError: If TOML has no such value.
        ValueError: If it contains itself, or is nested too deeply.
    """
    if depth > _DEEPEST:
        raise ValueError(f"a value contains itself, or has more than {_DEEPEST} lists and tables within each other")
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        entries = ", ".join(f"{key(name)} = {inline(entry, depth + 1)}" for name, entry in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(element, depth + 1) for element in value)}]"
    raise TypeError(f"a scenario has no values of type `{type(value).__name__}`: {value!r}")


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
    return f"{path}={value if isinstance(value, str) else inline(value)}"
