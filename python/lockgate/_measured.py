"""Values of metrics by name, which the properties of results read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

#: Metrics that are shown of results.
_SHOWN = 5

#: Part of `summary.json`.
Document = Mapping[str, Any]


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

    count: int = 0
    min: float | None = None
    mean: float | None = None
    std: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Known:
    """Metrics that were read already, of results that were copied or sent to another process."""

    metrics: Mapping[str, Any]

    def __call__(self) -> Mapping[str, Any]:
        return self.metrics


@dataclass(frozen=True, repr=False)
class Measured:
    """Results of a part of a run: every metric is a property, in its base unit.

    A value is `None`, and a distribution empty, if nothing was observed, or if the part cannot have the metric:
    a call has no congestion window.

    Attributes:
        document: All of it, as in `summary.json`.
    """

    document: Document = field(repr=False)
    _measure: Callable[[], Mapping[str, Any]] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        values = {name: value for name, value in self.metrics.items() if not isinstance(value, Distribution)}
        shown = [f"{name} {value:.6g}" for name, value in values.items() if value is not None][:_SHOWN]
        return f"<lockgate.{type(self).__name__} of {len(self.metrics)} metrics: {', '.join(shown)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.document, Known(dict(self._metrics)))

    @cached_property
    def _metrics(self) -> Mapping[str, Any]:
        return self._measure()

    @cached_property
    def metrics(self) -> dict[str, float | Distribution | None]:
        """Every metric that it can have, by name."""
        return {
            name: Distribution(**value) if isinstance(value, dict) else value
            for name, value in self._metrics.items()
        }

    def _count(self, name: str) -> int:
        return int(self._metrics[name])

    def _value(self, name: str) -> float | None:
        value = self._metrics.get(name)
        return None if value is None else float(value)

    def _distribution(self, name: str) -> Distribution:
        return Distribution(**self._metrics.get(name, {}))
