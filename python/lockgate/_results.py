"""Results of a run by name: flows, ports, queues, with every value in its base unit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from . import _arguments
from ._errors import MetricError
from ._measured import Distribution as Distribution
from ._measured import Document, Known
from ._metrics import FlowMetrics, GroupMetrics, PortMetrics, QueueMetrics

T = TypeVar("T")


class Named(Mapping[str, T], Generic[T]):
    """Objects of a run by name, in the scenario's order. A wrong name is an error with the nearest ones."""

    def __init__(self, what: str, documents: Document, make: Callable[[str, Document], T]) -> None:
        self._what, self._documents, self._make = what, documents, make

    def __getitem__(self, name: str) -> T:
        # Ports have two spellings.
        spelling = _arguments.text("a name", name).replace("->", ":")
        known = spelling if spelling in self._documents else name
        found = self._documents.get(known)
        if found is None:
            near = difflib.get_close_matches(name, list(self._documents), n=1)
            help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(self._documents)}"
            raise MetricError(f"there is no {self._what} `{name}`\nhelp: {help}")
        return self._make(known, found)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.replace("->", ":") in self._documents

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"{{{', '.join(self._documents)}}}"


@dataclass(frozen=True, repr=False)
class FlowResults(FlowMetrics):
    """Results of a flow. Statistics are of the packets sent after the warm-up.

    Every metric of flows is a property, in its base unit: `run.flows["call"].owd.p99`. A value is `None`, and a
    distribution empty, if nothing was observed, or if the flow cannot have it: a call has no congestion window.

    Attributes:
        document: All of it, as in `summary.json`.
    """


@dataclass(frozen=True, repr=False)
class GroupResults(GroupMetrics):
    """Results of a group of flows (`count`), and of the files that they carry.

    Every metric of groups is a property, in its base unit.

    Attributes:
        document: All of it, as in `summary.json`.
    """


@dataclass(frozen=True, repr=False)
class QueueResults(QueueMetrics):
    """Results of a queue, everything below it included.

    Every metric of queues is a property, in its base unit.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    @property
    def kind(self) -> str:
        """Discipline."""
        return str(self.document["kind"])


@dataclass(frozen=True, repr=False)
class PortResults(PortMetrics):
    """Results of a port: one direction of a link.

    Every metric of ports is a property, in its base unit.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    _queues: Callable[[str], Mapping[str, Any]] = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        queues = {name: dict(self._queues(name)) for name in self.document["queues"]}
        return type(self), (self.document, Known(dict(self._metrics)), queues.__getitem__)

    @property
    def queues(self) -> Named[QueueResults]:
        """Queues by name, parents before children."""
        return Named(
            "queue",
            self.document["queues"],
            lambda name, document: QueueResults(document, lambda: self._queues(name)),
        )


@dataclass(frozen=True)
class Expectation:
    """An expectation of the scenario with its outcome.

    Attributes:
        that: Address of the metric.
        holds: True if it holds.
        value: Value of the metric in its base unit: of several runs their mean; `None` if one observed nothing.
        half_width: Half the width of the mean's 95 % confidence interval; `None` for a single run.
        values: Value in each run, in the order of the seeds.
        text: The outcome in a sentence.
    """

    that: str
    holds: bool
    value: float | None
    half_width: float | None
    values: tuple[float | None, ...]
    text: str


@dataclass(frozen=True)
class Interval:
    """Mean of a metric over several runs.

    Attributes:
        mean: Mean over the runs that have a value, in the metric's base unit.
        half_width: Half the width of its 95 % confidence interval (Student); `None` for fewer than two values,
            and if all are equal.
        values: Value in each run, in the order of the seeds.
    """

    mean: float
    half_width: float | None
    values: tuple[float | None, ...]

    @classmethod
    def of(cls, document: Document) -> Interval:
        """Reads one of `summary.json`."""
        return cls(document["mean"], document["half_width"], tuple(document["values"]))
