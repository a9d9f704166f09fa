"""Plans: every variant of a scenario with every seed, compared or swept."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from . import _arguments, _executors, _lockgate, _toml
from ._errors import ArgumentError, refuse_pickle
from ._results import Interval
from ._scenario import MEMORY, Scenario, of
from ._storage import Remote, is_address
from ._table import Table, as_text
from ._toml import Value

#: Values by path: a list or an array, or a range such as `"1ms..20ms log 5"`. A tuple of paths all get the same value.
Vary = (
    Mapping[str, Iterable[Value] | str]
    | Mapping[tuple[str, ...], Iterable[Value] | str]
    | Mapping[str | tuple[str, ...], Iterable[Value] | str]
)


#: Limit on the values of a variation: an endless iterable is read no further.
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class Failed:
    """A run that failed.

    Attributes:
        settings: Settings of the run, each `PATH=VALUE`.
        seed: Seed of the run.
        error: Reason.
        command: Command that repeats the run. It names the scenario's file; of one without a file, the copy in
            the store, or `scenario.toml`, to which `Scenario.save` writes it.
    """

    settings: list[str]
    seed: int
    error: str
    command: str


@dataclass(frozen=True)
class Status:
    """Counts of a plan's runs.

    Attributes:
        runs: All.
        finished: Those with a row.
        failed: Those that failed and are not finished.
    """

    runs: int
    finished: int
    failed: int

    @property
    def missing(self) -> int:
        """Those that are neither finished nor failed."""
        return self.runs - self.finished - self.failed


class Plan:
    """Runs of a scenario: every combination of its variations with every seed.

    Made by `sweep` and `open`. A run is finished once its row is kept: `run` can be interrupted, killed and
    called again, here or elsewhere, and makes what is missing. The table has the same bytes whatever the order.
    """

    def __init__(self, inner: _lockgate.Plan) -> None:
        self._inner = _arguments.instance("inner", inner, _lockgate.Plan, "a plan of `sweep` or `open`")

    @property
    def title(self) -> str:
        """Title of the scenario; of a store that was opened, its directory."""
        return self._inner.title

    @property
    def variables(self) -> list[str]:
        """Names of the variations."""
        return self._inner.variables

    @property
    def variants(self) -> list[dict[str, str]]:
        """Values of each variant, by the name of the variation."""
        return [dict(zip(self.variables, values, strict=True)) for values in self._inner.variants]

    @property
    def seeds(self) -> list[int]:
        """Seeds of each variant."""
        return self._inner.seeds

    @property
    def metrics(self) -> list[str]:
        """Addresses of the metrics that are kept of each run."""
        return self._inner.metrics

    def __len__(self) -> int:
        """Returns the number of runs: variants times seeds."""
        return len(self._inner)

    @property
    def missing(self) -> list[int]:
        """Indices of the runs without a row, failed ones included: those that `run` makes."""
        return self._inner.missing()

    @property
    def failed(self) -> list[Failed]:
        """Runs that failed, each with its error and the command that repeats it."""
        return [Failed(*fields) for fields in self._inner.failed()]

    @property
    def status(self) -> Status:
        """Counts of the runs."""
        failed = len(self._inner.failed())
        return Status(len(self), len(self) - len(self.missing), failed)

    def run(
        self,
        executor: Executor | None = None,
        *,
        threads: int | None = None,
        batch: int | None = None,
        progress: bool | Callable[[int, int], object] = False,
    ) -> Plan:
        """Makes the runs that are missing.

        A failed run has no row, and does not affect others. It is among `failed`, and the next call makes it again.

        Args:
            executor: Any PEP 3148 executor, such as `client.get_executor()` of Dask or a
                `ProcessPoolExecutor`. By default the runs are made here, on threads, with the GIL released. Its
                workers need this version of Lockgate and no file: scenario and files are sent along.
            threads: Number of threads, without an executor; by default one a processor.
            batch: Largest number of runs that a worker makes in one call; by default up to 64, so that there
                are some two hundred calls.
            progress: True for a line on stderr, or a function of the numbers of ended and of all runs.

        Returns:
            The plan itself.

        Raises:
            VersionError: If the store or a worker is of another version.
            ExecutorError: If the executor cannot run the tasks; finished runs are kept.
            StoreError: If the store cannot be written.
            KeyboardInterrupt: If the user interrupts it; finished runs are kept.
        """
        threads, batch = _arguments.optional_whole("threads", threads, 1), _arguments.optional_whole("batch", batch, 1)
        self._inner.check()
        missing = self.missing
        tell = _progress(progress, len(missing))
        if executor is None:
            self._inner.run(missing, threads, tell)
        else:
            if not callable(getattr(executor, "submit", None)):
                raise _arguments.wrong("executor", executor, "an executor, which has `submit` (PEP 3148)")
            # A client of Dask returns an executor.
            get = getattr(executor, "get_executor", None)
            _executors.run(self._inner, missing, get() if callable(get) else executor, batch, tell)
        if progress is True:
            print(file=sys.stderr)
        return self

    def table(self) -> Table:
        """Returns a row for each finished run: variables, seed, and metrics by their addresses in base units.

        A variable is a column of text, and beside it one of numbers with the unit in its name if its values have one
        unit: `link.line.delay` and `link.line.delay_s`.
        """
        return Table(self._inner.table())

    def collect(self) -> str:
        """Writes `runs.parquet` of the store, the table of all finished runs. Returns its path or address.

        Raises:
            StoreError: If a part is damaged.
            ArgumentError: If the plan has no store.
        """
        written = self._inner.collect()
        if written is None:
            raise ArgumentError("the plan has no store: make it with `into=`")
        return written[0]

    def compare(self, base: int | None = None) -> Comparison:
        """Compares the variants by their finished runs.

        Args:
            base: Index in `variants` of the one that the others are compared with; by default the best.
        """
        variants = len(self._inner.variants)
        if base is not None and _arguments.whole("base", base) >= variants:
            raise ArgumentError(f"there is no variant {base}: there are {variants}, from 0")
        document, table = self._inner.compare(base)
        return Comparison(self, json.loads(document), Table(table))

    def __reduce__(self) -> Any:
        refuse_pickle(self, "send its directory, and `open` it there")

    def __repr__(self) -> str:
        of = self.status
        return f"<lockgate.Plan of {self.title!r}: {of.finished} of {of.runs} runs finished, {of.failed} failed>"


@dataclass(frozen=True)
class Difference:
    """Difference of a variant from the reference, seed by seed.

    Attributes:
        mean: Mean of variant less reference, in the metric's base unit.
        half_width: Half the width of its confidence interval; `None` if the scatter is unknown.
        verdict: `differs`; `equal`: it differs, by less than 1 % or 1 ms; `not-seen`: no difference is seen; `same`:
            all values are the same; `unknown`: too few values to tell.
        seeds_needed: Number of seeds that show a difference as large as this one in four of five cases; `None` if it
            is seen, or if they are more than ten thousand.
    """

    mean: float
    half_width: float | None
    verdict: Literal["differs", "equal", "not-seen", "same", "unknown"]
    seeds_needed: int | None = None


@dataclass(frozen=True)
class MetricComparison:
    """One metric of all variants.

    Attributes:
        metric: Address.
        intervals: Mean of each variant; `None` if no run of it has a value.
        best: Index of the variant with the best mean; `None` if no direction is better.
        reference: Index of the variant that the others are compared with.
        differences: Difference of each variant from the reference; `None` for the reference itself.
    """

    metric: str
    intervals: list[Interval | None]
    best: int | None
    reference: int | None
    differences: list[Difference | None]


class Comparison:
    """Variants beside each other: `mean ± 95 %`, the best marked, and which differences are real.

    Printed, or shown in a notebook, it is the decision and the table of `lockgate compare`: `*` is the best, `=` no
    difference from it is seen, `≈` a real one below 1 % or 1 ms, `?` too few values to tell, and no mark a real
    difference.
    """

    def __init__(self, plan: Plan, document: dict[str, Any], table: Table) -> None:
        self._plan = _arguments.instance("plan", plan, Plan, "a plan")
        self._document = _arguments.mapping("document", document, "the document of a comparison")
        self._table = _arguments.instance("table", table, Table, "a table")

    @property
    def plan(self) -> Plan:
        """The plan, with its runs."""
        return self._plan

    @cached_property
    def metrics(self) -> list[MetricComparison]:
        """Comparison of each metric, in the order of the plan's metrics."""
        return [
            MetricComparison(
                address,
                [None if one is None else Interval.of(one) for one in document["intervals"]],
                document["best"],
                document["reference"],
                [
                    None
                    if one is None
                    else Difference(one["mean"], one["half_width"], one["verdict"], one["seeds_needed"])
                    for one in document["differences"]
                ],
            )
            for address, document in zip(self._plan.metrics, self._document["metrics"], strict=True)
        ]

    def table(self) -> Table:
        """Returns a row for each run: variables as in `Plan.table`, seed, and metrics in base units by address."""
        return self._table

    @property
    def decision(self) -> list[str]:
        """Sentences that decide: the variant to take, what it costs, and which variants keep the expectations."""
        return list(self._document["decision"])

    @property
    def sentences(self) -> list[str]:
        """Sentences below the table: the best of each metric, the real differences, seeds without a value."""
        return list(self._document["sentences"])

    def rows(self) -> list[list[str]]:
        """Returns the cells of the printed table, the header first."""
        table = self._document["table"]
        return [table["columns"], *table["rows"]]

    def __str__(self) -> str:
        table = self._document["table"]
        decided = [*self.decision, ""] if self.decision else []
        return "\n".join([table["title"], self._document["size"], "", *decided, as_text(table), "", table["note"]])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from ._html import comparison_page

        return comparison_page(self)


def _variations(vary: Vary | None, group: str | None) -> list[tuple[list[str], str | list[str], str | None]]:
    """Returns variations as the extension module takes them."""
    if vary is None:
        return []
    found: list[tuple[list[str], str | list[str], str | None]] = []
    for paths, values in _arguments.mapping("vary", vary, "values by path").items():
        if isinstance(values, str):
            texts: str | list[str] = _arguments.text("a range", values)
        else:
            all = itertools.islice(_arguments.several("vary", values, "values, or a range"), _MOST_VALUES + 1)
            texts = [_toml.setting("", value)[1:] for value in all]
            if not texts:
                raise ArgumentError(f"`{_arguments.texts('a path', paths)[0]}` has no values: its list is empty")
        found.append((_arguments.texts("a path", paths), texts, group))
    return found


def _progress(progress: bool | Callable[[int, int], object], all: int) -> Callable[[int], object]:
    if callable(progress):
        tell = progress
        return lambda ended: tell(ended, all)
    if not isinstance(progress, bool):
        raise _arguments.wrong("progress", progress, "True, or a function of two numbers")
    if progress:
        return lambda ended: print(f"\r{ended} of {all} runs", end="", file=sys.stderr, flush=True)
    return lambda ended: None


def _storage(into: str | os.PathLike[str]) -> str | Remote:
    """Returns the path of a directory, or the files at an address."""
    text = _arguments.path("into", into)
    return Remote(text) if is_address(text) else text


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    vary: Vary | None = None,
    *,
    vary_together: Vary | None = None,
    seeds: Iterable[int] = range(1, 11),
    metrics: str | Iterable[str] = (),
    into: str | os.PathLike[str] | None = None,
) -> Plan:
    """Makes a plan: reads every variant once, so that nothing runs if one of them is wrong.

    Args:
        scenario: The scenario, or the path of its file.
        vary: Values by path: a list or an array, or a range such as `"1ms..20ms log 5"`; several paths vary in every
            combination. All paths of a tuple get the same value. By default the `[[vary]]` of the scenario.
        vary_together: The same for values that advance together, one by one.
        seeds: Seeds of every variant, none twice: 1 to 10 by default, as of the command.
        metrics: Addresses of the metrics that are kept, or one; by default those of the scenario's expectations, or the
            p99 delay and goodput of its first flows.
        into: Directory for the results, or an address of fsspec such as `s3://bucket/results`; `lockgate sweep`
            understands both, too. Without one they are kept in memory.

    Returns:
        The plan; `plan.run()` makes its runs.

    Raises:
        PlanError: If nothing varies, a path or value is wrong, or seeds are named twice, none or too many.
        KeyboardInterrupt: If the user interrupts it; nothing is kept.
        MetricError: If no variant has one of the metrics.
        StoreError: If the directory or address holds another plan, or other files, or cannot be used.

    >>> import lockgate as lg
    >>> short = lg.demo().set({"duration": "2s", "warmup": "0s", "change.0.at": "1s"})
    >>> plan = lg.sweep(short, {"link.bottleneck.rate": ["10mbit", "20mbit"]}, seeds=[1, 2])
    >>> len(plan), len(plan.run().table())
    (4, 4)
    """
    variations = _variations(vary, None) + _variations(vary_together, "together")
    storage = None if into is None else _storage(into)
    metrics = _arguments.texts("metrics", metrics)
    inner = of(scenario)._inner
    return Plan(_lockgate.Plan.create(inner, variations, _arguments.seeds("seeds", seeds), metrics, storage))


def open(into: str | os.PathLike[str], *, memory: int = MEMORY) -> Plan:
    """Opens the store of an earlier sweep, of Python or of the command.

    Args:
        into: Its directory or address.
        memory: Limit on the memory of each of its runs, in bytes.

    Raises:
        StoreError: If there is no store.
    """
    return Plan(_lockgate.Plan.open(_storage(into), _arguments.whole("memory", memory)))


def compare(
    scenario: Scenario | str | os.PathLike[str],
    vary: Vary | None = None,
    *,
    vary_together: Vary | None = None,
    seeds: Iterable[int] = range(1, 11),
    metrics: str | Iterable[str] = (),
    base: int | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
) -> Comparison:
    """Compares variants of a scenario over the same seeds: which is best, and which differences are real.

    Args:
        scenario: The scenario, or the path of its file.
        vary: Values by path, as of `sweep`.
        vary_together: The same for values that advance together.
        seeds: Seeds of every variant. All variants of a seed have the same arrivals.
        metrics: Addresses of the metrics, as of `sweep`.
        base: Index of the variant that the others are compared with; by default the best.
        executor: Any PEP 3148 executor; by default threads of this process.
        threads: Number of threads, without an executor.

    Raises:
        PlanError: If nothing varies, or a path or value is wrong.
        MetricError: If no variant has one of the metrics.
    """
    plan = sweep(scenario, vary, vary_together=vary_together, seeds=seeds, metrics=metrics)
    return plan.run(executor, threads=threads).compare(base)
