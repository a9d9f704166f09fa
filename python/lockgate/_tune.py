"""Search for the best values of a scenario's parameters."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import _arguments, _lockgate
from ._plan import Vary, _progress, _variations
from ._scenario import Scenario, of
from ._table import as_text


@dataclass(frozen=True)
class Point:
    """A point of a search.

    Attributes:
        values: Value of each parameter, by its name.
        settings: Settings, each `PATH=VALUE`.
        means: Mean of each metric over the seeds, by address, in base units; `None` if a run has no value.
        feasible: True if it keeps every constraint.
    """

    values: dict[str, str]
    settings: list[str]
    means: dict[str, float | None]
    feasible: bool


@dataclass(frozen=True)
class Recommendation:
    """A point to use.

    Attributes:
        role: `the winner`, the knee of a front, or `on the front`.
        point: Index in `points`.
        command: Command that runs it.
    """

    role: str
    point: int
    command: str


class Tuned:
    """A search: the points that were tried, and the best ones, judged on seeds that the search has not seen.

    Printed, or shown in a notebook, it has the tables of `lockgate tune`.
    """

    def __init__(self, scenario: Scenario, document: dict[str, Any]) -> None:
        self._scenario = _arguments.instance("scenario", scenario, Scenario, "a scenario")
        self._document = _arguments.mapping("document", document, "the document of a search")

    @property
    def metrics(self) -> list[str]:
        """Addresses of the goals' metrics, then of the constraints'."""
        return list(self._document["search"]["metrics"])

    @property
    def points(self) -> list[Point]:
        """Points in the order in which they were tried."""
        search = self._document["search"]
        return [
            Point(
                dict(zip(search["vary"], one["values"], strict=True)),
                one["settings"],
                dict(zip(search["metrics"], one["means"], strict=True)),
                one["feasible"],
            )
            for one in search["tried"]
        ]

    @property
    def recommended(self) -> list[Recommendation]:
        """Points to use: the winner of one goal; of several the knee of the front, then the rest of it. Empty if no
        point keeps every constraint."""
        return [Recommendation(**one) for one in self._document["recommended"]]

    @property
    def best(self) -> Scenario | None:
        """The scenario with the values of the first recommended point; `None` without one."""
        if not self.recommended:
            return None
        settings = self.points[self.recommended[0].point].settings
        return Scenario._of(self._scenario._inner.with_settings(settings))

    @property
    def sentences(self) -> list[str]:
        """The outcome in sentences: the points to use with their commands, the size, and how the search ended."""
        return list(self._document["sentences"])

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as `lockgate tune --json` writes it."""
        search: dict[str, Any] = self._document["search"]
        return search

    def __str__(self) -> str:
        parts = [self._scenario.title, self._document["size"]]
        for name in ("points", "finalists"):
            table = self._document[name]
            parts += ["", f"{table['title']}:", as_text(table), table["note"]]
        return "\n".join([*parts, "", *self.sentences])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from ._html import tuned_page

        return tuned_page(self)


def tune(
    scenario: Scenario | str | os.PathLike[str],
    vary: Vary | None = None,
    *,
    goals: str | Iterable[str],
    subject_to: str | Iterable[str] = (),
    runs: int = 60,
    seeds: Iterable[int] = (1, 2),
    validate: Iterable[int] = range(101, 111),
    patience: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Tuned:
    """Searches for the best values of parameters, and judges the best points on other seeds.

    Args:
        scenario: The scenario, or the path of its file.
        vary: Values by path: a range such as `"1ms..20ms log"` stands for every value in it; or a list. By default
            the `[[vary]]` of the scenario.
        goals: Metrics to make small or large, such as `"min flow.call.owd.p99"`; of several the front is found.
        subject_to: Bounds of metrics, such as `"group.backup.goodput.sum >= 8mbit"`.
        runs: Limit on the runs of the search: points times seeds.
        seeds: Seeds that every point is run with.
        validate: Other seeds, on which the best points are judged.
        patience: Ends the search after this many points that were no better; by default when the runs are made.
        seed: Seed of the search's own draws.
        threads: Number of threads; by default one a processor.
        progress: True for a line on stderr, or a function of the numbers of ended runs and of `runs`.

    Raises:
        PlanError: If nothing varies, a path, value, goal or bound is wrong, or seeds are in both sets.
        MetricError: If the scenario has no such metric.
        KeyboardInterrupt: If the user interrupts it; nothing is kept.

    >>> import lockgate as lg
    >>> short = lg.demo().set({"duration": "2s", "warmup": "0s", "change.0.at": "1s"})
    >>> flow = short.flows[0]
    >>> tuned = lg.tune(short, {"link.bottleneck.rate": "5mbit..20mbit"}, goals=f"min flow.{flow}.owd.p99",
    ...                 runs=5, seeds=[1], validate=[2, 3])
    >>> len(tuned.points), tuned.recommended[0].role
    (5, 'the winner')
    """
    scenario = of(scenario)
    tell = _progress(progress, _arguments.whole("runs", runs))
    answer = _lockgate.tune(
        scenario._inner,
        _variations(vary, None),
        _arguments.texts("goals", goals),
        _arguments.texts("subject_to", subject_to),
        _arguments.whole("runs", runs),
        _arguments.seeds("seeds", seeds),
        _arguments.seeds("validate", validate),
        _arguments.optional_whole("patience", patience),
        _arguments.whole("seed", seed),
        _arguments.optional_whole("threads", threads, 1),
        tell,
    )
    if progress is True:
        print(file=sys.stderr)
    return Tuned(scenario, json.loads(answer))
