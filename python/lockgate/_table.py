"""Tables that polars, pandas, duckdb and pyarrow read without a copy."""

from __future__ import annotations

import difflib
from typing import Any

from . import _arguments, _lockgate
from ._errors import MetricError, refuse_pickle


def as_text(table: dict[str, Any]) -> str:
    """Returns a table of texts in columns, as the command prints it."""
    rows: list[list[str]] = [table["columns"], *table["rows"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


class Table:
    """Named columns of equal length, in Arrow's memory layout.

    Takes part in the Arrow PyCapsule interface, so that others read it as it is:

    - polars: `polars.DataFrame(table)`
    - pandas: `table.to_pandas()`
    - duckdb: `duckdb.sql("select ... from table")` after `table = pyarrow.table(table)`
    - pyarrow: `pyarrow.table(table)`

    Without any of them: `table.to_dict()`, `table["flow"]`, `table.head()`. The unit of a column is in its name:
    `owd_p99_s` is in seconds, `arrived_ps` in picoseconds, `sent_bps` in bits per second.
    """

    def __init__(self, inner: _lockgate.Table) -> None:
        self._inner = _arguments.instance("inner", inner, _lockgate.Table, "a table of Lockgate")

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._inner.columns

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, column: str) -> list[Any]:
        """Returns a column as a list of Python values; `None` for null.

        Raises:
            MetricError: If there is no such column.
        """
        values = self._inner.column(_arguments.text("column", column))
        if values is None:
            near = difflib.get_close_matches(column, self.columns, n=1)
            help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(self.columns[:12])}"
            raise MetricError(f"there is no column `{column}`\nhelp: {help}")
        return values

    def head(self, rows: int = 10) -> Table:
        """Returns the first rows, without a copy."""
        return Table(self._inner.head(_arguments.whole("rows", rows, most=2**63 - 1)))

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns as lists of Python values, by name; `None` for null."""
        return self._inner.to_dict()

    def to_pandas(self) -> Any:
        """Returns the table as a `pandas.DataFrame`.

        With pyarrow, texts that repeat are categories, and whole numbers with nulls are exact (`Int64`). Without it,
        texts are objects, and null is NaN in columns of numbers.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        table = pyarrow.table(self)
        exact = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.uint64(): pandas.UInt64Dtype()}
        columns = ((name, table[name]) for name in table.column_names)
        return pandas.DataFrame(
            {name: one.to_pandas(types_mapper=exact.get if one.null_count else None) for name, one in columns}
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the table (Arrow PyCapsule interface)."""
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Exports its schema (Arrow PyCapsule interface)."""
        return self._inner.__arrow_c_schema__()

    def __reduce__(self) -> Any:
        refuse_pickle(self, "send `pyarrow.table(it)` or its `to_dict()`")

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __repr__(self) -> str:
        return f"<lockgate.Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from ._html import table_page

        return table_page(self)
