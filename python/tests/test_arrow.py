"""Tables: read by pyarrow, polars, pandas and duckdb, over the memory of the recording."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg


def test_packets_are_those_of_the_parquet_file(line_file: Path, command: list[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    # A queue of four packets: some are lost, and have no departure.
    lossy = ["port.a:b.queue.q.kind=fifo", "port.a:b.queue.q.limit=4p"]
    sets = [part for one in lossy for part in ("--set", one)]
    subprocess.run([*command, "run", line_file, "--packets", *sets, "--out", "out", "--quiet"], check=True)
    scenario = lg.read(line_file).set(dict(one.split("=") for one in lossy))
    kept, again = scenario.run(packets=True), scenario.run()
    table = pyarrow.table(kept.packets())
    written = parquet.read_table("out/packets.parquet")
    assert table.column_names == written.column_names
    assert table.to_pydict() == written.to_pydict() and table["lost"].null_count < len(table)
    assert kept.packets().to_dict() == again.packets().to_dict() == written.to_pydict()


def test_columns_of_packets_share_the_memory_of_the_recording(line: lg.Scenario) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    run = line.run(packets=True)
    # Both at the same time, so that no address is used twice.
    tables = [pyarrow.table(run.packets()), pyarrow.table(run.packets())]

    def addresses(table: Any) -> list[int]:
        plain = ("sequence", "length_bytes", "arrived_ps", "departed_ps")
        keys = [table[name].chunk(0).indices.buffers()[1].address for name in ("flow", "port", "lost")]
        return keys + [table[name].chunk(0).buffers()[1].address for name in plain]

    assert addresses(tables[0]) == addresses(tables[1]), "a table copied the recording"
    queues = [table["queue"].chunk(0).indices.buffers()[1].address for table in tables]
    assert queues[0] != queues[1], "only this column is computed"


def test_memory_outlives_the_run(line: lg.Scenario) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    run = line.run(packets=True)
    expected = run.packets().to_dict()
    table = pyarrow.table(run.packets())
    del run
    assert table.to_pydict() == expected


def test_polars_pandas_and_duckdb_read_tables(line: lg.Scenario) -> None:
    run = line.run(packets=True)
    packets, expected = run.packets(), run.packets().to_dict()
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(packets)
    assert frame["arrived_ps"].to_list() == expected["arrived_ps"]
    assert frame["flow"].cast(polars.String).to_list() == expected["flow"]
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    assert pyarrow.table(packets).to_pandas()["queue"].tolist() == expected["queue"]
    duckdb = pytest.importorskip("duckdb")
    reader = pyarrow.table(packets)
    counted = duckdb.sql("select count(*), max(arrived_ps) from reader").fetchall()
    assert counted == [(len(packets), max(expected["arrived_ps"]))] and len(reader) == len(packets)


def test_a_table_is_read_by_columns_and_rows(line: lg.Scenario) -> None:
    table = line.run(packets=True).packets()
    whole = table.to_dict()
    assert [table[name] for name in table.columns] == list(whole.values())
    assert table.head(3).to_dict() == {name: values[:3] for name, values in whole.items()}
    assert len(table.head(10**9)) == len(table) and len(table.head(0)) == 0
    assert table._repr_html_().count("<tr>") == 11 and f"{len(table)} rows" in table._repr_html_()
    with pytest.raises(lg.MetricError, match="did you mean `flow`"):
        table["flw"]


def test_pandas_has_exact_numbers_and_categories(line: lg.Scenario) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    lossy = line.set("port.a:b.queue.q", {"kind": "fifo", "limit": "2p"}).run(packets=True).packets()
    frame = lossy.to_pandas()
    assert frame["departed_ps"].dtype == "Int64" and frame["arrived_ps"].dtype == "int64"
    assert isinstance(frame["flow"].dtype, pandas.CategoricalDtype)
    given = [None if value is pandas.NA else value for value in frame["departed_ps"]]
    assert given == lossy["departed_ps"] and None in given


def test_pandas_has_the_columns_of_a_table(line: lg.Scenario) -> None:
    pytest.importorskip("pandas")
    series = line.run().series("flow.one")
    frame = series.to_pandas()
    assert list(frame.columns) == series.columns and len(frame) == len(series)
    assert frame["time_s"].tolist() == series["time_s"]
