"""Results of a run by name: flows, ports, queues, with every value in its base unit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._errors import MetricError

T = TypeVar("T")

#: Part of `summary.json`.
Document = Mapping[str, Any]


class Named(Mapping[str, T], Generic[T]):
    """Objects of a run by name, in the scenario's order. A wrong name is an error with the nearest ones."""

    def __init__(self, what: str, documents: Document, make: Callable[[Document], T]) -> None:
        self._what, self._documents, self._make = what, documents, make

    def __getitem__(self, name: str) -> T:
        # Ports have two spellings.
        found = self._documents.get(name.replace("->", ":"), self._documents.get(name))
        if found is None:
            near = difflib.get_close_matches(name, list(self._documents), n=1)
            help = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(self._documents)}"
            raise MetricError(f"there is no {self._what} `{name}`\nhelp: {help}")
        return self._make(found)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.replace("->", ":") in self._documents

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def __repr__(self) -> str:
        return f"{{{', '.join(self._documents)}}}"


@dataclass(frozen=True)
class Distribution:
    """Statistics of a distribution; `None` if nothing was observed. Times are in seconds.

    Quantiles are by nearest rank, with a relative error of at most 2^-10; the rest is exact.

    Attributes:
        count: Number of values.
        min: Smallest value.
        mean: Arithmetic mean.
        std: Standard deviation.
        p50: Median.
        p90: 90th percentile.
        p95: 95th percentile.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: Largest value.
    """

    count: int
    min: float | None
    mean: float | None
    std: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    max: float | None


@dataclass(frozen=True)
class FlowResults:
    """Results of a flow. Statistics are of the packets sent after the warm-up.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    document: Document

    @property
    def owd(self) -> Distribution:
        """One-way delay (RFC 7679), in seconds."""
        return Distribution(**self.document["owd_s"])

    @property
    def queueing(self) -> Distribution:
        """Part of the one-way delay spent waiting in queues, in seconds."""
        return Distribution(**self.document["queueing_s"])

    @property
    def ipdv(self) -> Distribution:
        """Magnitude of the delay variation between packets sent in succession (RFC 3393), in seconds."""
        return Distribution(**self.document["ipdv_s"])

    @property
    def iat(self) -> Distribution:
        """Time between arrivals at the receiver, in seconds."""
        return Distribution(**self.document["iat_s"])

    @property
    def throughput(self) -> float | None:
        """Frame bits per second received."""
        return _real(self.document["throughput_bps"])

    @property
    def goodput(self) -> float | None:
        """Payload bits per second received."""
        return _real(self.document["goodput_bps"])

    @property
    def loss(self) -> float | None:
        """Fraction of the packets sent that were lost, from 0 to 1."""
        return _real(self.document["loss_ratio"])

    @property
    def fct(self) -> float | None:
        """Flow completion time, in seconds; `None` if the flow did not complete."""
        return _real(self.document["fct_s"])

    @property
    def sent_packets(self) -> int:
        """Packets sent."""
        return int(self.document["sent_packets"])

    @property
    def received_packets(self) -> int:
        """Packets received, of those sent."""
        return int(self.document["received_packets"])

    @property
    def lost_packets(self) -> int:
        """Packets lost, of those sent."""
        return int(self.document["lost_packets"])


@dataclass(frozen=True)
class QueueResults:
    """Results of a queue, everything below it included.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    document: Document

    @property
    def kind(self) -> str:
        """Discipline."""
        return str(self.document["kind"])

    @property
    def sojourn(self) -> Distribution:
        """Time from arrival at the port until transmission begins, in seconds."""
        return Distribution(**self.document["sojourn_s"])

    @property
    def throughput(self) -> float | None:
        """Bits per second sent."""
        return _real(self.document["throughput_bps"])

    @property
    def sent_packets(self) -> int:
        """Packets sent."""
        return int(self.document["sent_packets"])

    @property
    def dropped_packets(self) -> int:
        """Packets dropped."""
        return int(self.document["dropped_packets"])

    @property
    def marked_packets(self) -> int:
        """Packets marked by ECN."""
        return int(self.document["marked_packets"])

    @property
    def peak_backlog_packets(self) -> int:
        """Largest backlog, in packets."""
        return int(self.document["peak_backlog_packets"])


@dataclass(frozen=True)
class PortResults:
    """Results of a port: one direction of a link.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    document: Document

    @property
    def rate(self) -> float:
        """Rate of its link at the start of the run, in bits per second."""
        return float(self.document["rate_bps"])

    @property
    def utilisation(self) -> float | None:
        """Fraction of the link's capacity that was used, from 0 to 1."""
        return _real(self.document["utilisation"])

    @property
    def queues(self) -> Named[QueueResults]:
        """Queues by name, parents before children."""
        return Named("queue", self.document["queues"], QueueResults)


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


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
