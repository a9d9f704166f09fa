"""Tables that polars, pandas, duckdb and pyarrow read without a copy."""

from __future__ import annotations

from typing import Any

from . import _lockgate


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

    Without any of them: `table.to_dict()`. The unit of a column is in its name: `owd_p99_s` is in seconds,
    `arrived_ps` in picoseconds, `sent_bps` in bits per second.
    """

    def __init__(self, inner: _lockgate.Table) -> None:
        self._inner = inner

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._inner.columns

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, column: str) -> list[Any]:
        """Returns a column as a list of Python values; `None` for null."""
        return self.to_dict()[column]

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns as lists of Python values, by name; `None` for null."""
        return self._inner.to_dict()

    def to_pandas(self) -> Any:
        """Returns the table as a `pandas.DataFrame`; null is NaN in columns of numbers.

        Raises:
            ImportError: pandas is not installed.

        """
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pandas.DataFrame(self.to_dict())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the table (Arrow PyCapsule interface)."""
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Exports its schema (Arrow PyCapsule interface)."""
        return self._inner.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<lockgate.Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from ._html import table_page

        return table_page(self)
