"""Runs: results of a scenario for one seed or several."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _arguments, _lockgate
from ._errors import refuse_pickle
from ._results import Expectation, FlowResults, GroupResults, Interval, Named, PortResults
from ._scenario import Scenario
from ._table import Table


class Run:
    """Finished runs of a scenario, one for each seed.

    `flows`, `ports` and `metric` describe the first run, `run[i]` is each of them alone; `interval` is the mean over
    all, and `table` has a row for each. In a notebook it shows the verdict, the delays over time and a table of the
    flows.
    """

    def __init__(self, scenario: Scenario, inner: _lockgate.Run) -> None:
        self._scenario = _arguments.instance("scenario", scenario, Scenario, "a scenario")
        self._inner = _arguments.instance("inner", inner, _lockgate.Run, "the runs of `Scenario.run`")

    @property
    def scenario(self) -> Scenario:
        """The scenario as it was run: with the changes that `Simulation.set` made, each a `[[change]]`."""
        return self._scenario

    @property
    def _title(self) -> str:
        return self._scenario.title

    def __len__(self) -> int:
        """Returns the number of runs."""
        return len(self.seeds)

    def __getitem__(self, run: int) -> Run:
        """Returns one of the runs alone.

        Args:
            run: Index of the run, in the order of the seeds; from the end if below zero.

        Raises:
            IndexError: If there is no such run.
        """
        index = _arguments.whole("run", run, -_arguments.LARGEST)
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no run {run}: there are {len(self)}")
        return Run(self._scenario, self._inner.one(index % len(self)))

    @property
    def seeds(self) -> list[int]:
        """Seeds of the random draws, one a run."""
        return self._inner.seeds

    @cached_property
    def summary(self) -> dict[str, Any]:
        """`summary.json`: everything in base units, the unit in the name."""
        document: dict[str, Any] = json.loads(self._inner.summary())
        return document

    @property
    def flows(self) -> Named[FlowResults]:
        """Results of each flow: `run.flows["call"].owd.p99` is in seconds."""
        return Named(
            "flow",
            self.summary["flows"],
            lambda name, document: FlowResults(document, self._measure("flow", name)),
        )

    @property
    def groups(self) -> Named[GroupResults]:
        """Results of each group of flows: `run.groups["web"].fct.p99` is in seconds."""
        return Named(
            "group of flows",
            self.summary.get("groups", {}),
            lambda name, document: GroupResults(document, self._measure("group", name)),
        )

    @property
    def ports(self) -> Named[PortResults]:
        """Results of each port: `run.ports["router:modem"].queues["cake"].sojourn.p99` is in seconds."""
        return Named(
            "port",
            self.summary["ports"],
            lambda name, document: PortResults(
                document,
                self._measure("port", name),
                lambda queue: self._inner.measured("queue", [name, queue]),
            ),
        )

    def _measure(self, about: str, name: str) -> Callable[[], Mapping[str, Any]]:
        return lambda: self._inner.measured(about, [name])

    @property
    def holds(self) -> bool:
        """True if every expectation of the scenario holds."""
        return self._inner.holds

    @property
    def verdict(self) -> str:
        """The verdict in a line."""
        return self._inner.verdict

    @property
    def expect(self) -> list[Expectation]:
        """Expectations with their outcomes."""
        return [
            Expectation(
                of["that"], of["holds"], of["value"], of["half_width"], tuple(of["values"]), sentence
            )
            for of, sentence in zip(self.summary["expect"], self._inner.sentences, strict=True)
        ]

    def metric(self, address: str) -> float:
        """Returns the value at an address, such as `"flow.call.owd.p99"`, in its base unit.

        Args:
            address: Address, as expectations have it; `lockgate list metrics` shows all metrics.

        Raises:
            MetricError: If there is no such metric, flow, port or queue, or nothing was observed.
        """
        return self._inner.metric(_arguments.text("address", address))

    def values(self, address: str) -> list[float | None]:
        """Returns the value at an address in each run, in the order of the seeds; `None` without observations.

        Raises:
            MetricError: If there is no such metric, flow, port or queue.
        """
        return self._inner.values(_arguments.text("address", address))

    def interval(self, address: str) -> Interval:
        """Returns the mean of a metric over the runs, with its 95 % confidence interval.

        Raises:
            MetricError: If there is no such metric, or it has no value in any run.
        """
        known = self.summary["intervals"].get(_arguments.text("address", address))
        if known is not None:
            return Interval.of(known)
        value = self.metric(address)
        return Interval(value, None, tuple(self.values(address)))

    def packets(self, run: int = 0) -> Table:
        """Returns a row for each packet at each port it reached.

        Columns: `flow`, `sequence` (number within the flow), `port`, `queue` (the last one it was in),
        `length_bytes`, `arrived_ps`, `departed_ps` (null if it did not leave), `lost` (the reason, null if it
        was not lost). Times are picoseconds since the start of the run, exact.

        Rows are kept only by `Scenario.run(packets=True)`. Otherwise the runs are made once more, with the same
        seeds, the same changes and to the same end: the packets are the same.

        Args:
            run: Index of the run, in the order of the seeds.

        Raises:
            RunError: If there is no such run, or its rows need more memory than is allowed.
        """
        return Table(self._inner.packets(_arguments.whole("run", run)))

    def table(self, metrics: str | Iterable[str] = ()) -> Table:
        """Returns a row for each run: its seed, and metrics by their addresses in base units.

        Args:
            metrics: Addresses of the metrics; by default every one that the first run has.

        Raises:
            MetricError: If there is no such metric, flow, port or queue.
        """
        return Table(self._inner.table(_arguments.texts("metrics", metrics) or list(self.summary["metrics"])))

    def series(self, address: str, run: int = 0) -> Table:
        """Returns a time series: a row for each sampling interval, some six hundred a run.

        Args:
            address: `"flow.NAME"`, `"flow.NAME.tcp"`, `"port.NAME"` or `"port.NAME.queue.NAME"`, with all
                columns; or with one more name, which selects the columns that begin with it:
                `"port.router:modem.backlog"`. A port whose rate changed has `rate_bps`, and one before a line
                that a trace moves `capacity_bps`.
            run: Index of the run, in the order of the seeds.

        Raises:
            MetricError: If there is no such series, with those that there are.
        """
        return Table(self._inner.series(_arguments.text("address", address), _arguments.whole("run", run)))

    def events(self, run: int = 0) -> Table:
        """Returns the changes of a run and what else happened, such as each large step of a rate with its reason.

        Columns: `time_s`, `kind` (`change`, `expect` or `note`), `path` and `value` of a change, `text`.

        Args:
            run: Index of the run, in the order of the seeds.

        Raises:
            RunError: If there is no such run.
        """
        return Table(self._inner.events(_arguments.whole("run", run)))

    def write_pcapng(self, file: str | os.PathLike[str], run: int = 0) -> None:
        """Writes the packets at all queues as a capture for Wireshark. Packets that were not kept are made again.

        Raises:
            RunError: If the run was of a path that kept none, or the file cannot be written.
        """
        self._inner.write_pcapng(_arguments.whole("run", run), _arguments.path("file", file))

    def write_qlog(self, file: str | os.PathLike[str], run: int = 0) -> None:
        """Writes what happened to the packets at all queues as qlog, beside the logs of QUIC stacks.

        Packets that were not kept are made again.

        Raises:
            RunError: If the run was of a path that kept none, or the file cannot be written.
        """
        self._inner.write_qlog(_arguments.whole("run", run), _arguments.path("file", file))

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes what `lockgate run` writes: `report.html`, `summary.json`, `manifest.json` and more.

        `scenario.toml` is the scenario as it was run, with the changes that were made in between. Of a simulation that
        was finished before its end, `manifest.json` says `interrupted`.

        Args:
            directory: A new or empty directory, or that of an earlier run, which is replaced.

        Returns:
            The directory.

        Raises:
            RunError: If it holds other files, or cannot be written.
        """
        return Path(self._inner.save(_arguments.path("directory", directory), self._command()))

    def _command(self) -> str:
        """Returns the command that makes the runs again in the saved directory; empty if none does."""
        seeds = self.seeds
        if self._inner.stopped_early or seeds != list(range(seeds[0], seeds[0] + len(seeds))):
            return ""
        repeat = f" --repeat {len(seeds)}" if len(seeds) > 1 else ""
        return f"lockgate run scenario.toml --seed {seeds[0]}{repeat}"

    def __reduce__(self) -> Any:
        refuse_pickle(self, "send its `summary`, or its scenario and seeds, from which it is made again")

    def __repr__(self) -> str:
        seeds = f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        return f"<lockgate.Run of {self._scenario.title!r}, {seeds}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from ._html import run_page

        return run_page(self)
