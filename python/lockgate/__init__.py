"""Lockgate: a laboratory for packet scheduling.

Scenarios are read or built, and run in exact simulated time; variants are compared over the same seeds; a run can
be advanced step by step, observed and changed. A path is a network whose ends are your program.

>>> import lockgate as lg
>>> run = lg.demo().run(seed=1)
>>> 0.2 < run.flows["call"].owd.p99 < 2.0  # seconds
True

All times are in seconds, rates in bits per second, sizes in bytes, shares from 0 to 1, unless a name says otherwise
(`arrived_ps`). Quantities that go into a scenario are texts with their unit: `"20ms"`, or `lg.ms(20)`.
"""

from __future__ import annotations

from ._errors import (
    ArgumentError,
    Error,
    ExecutorError,
    MetricError,
    PlanError,
    Problem,
    RunError,
    ScenarioError,
    StoreError,
    VersionError,
)
from ._lockgate import __version__
from ._path import Delivery, Path, PathRun
from ._plan import Comparison, Difference, Failed, MetricComparison, Plan, Status, compare, sweep

# Not in `__all__`: `from lockgate import *` must not replace the built-in one.
from ._plan import open as open
from ._results import (
    Distribution,
    Expectation,
    FlowResults,
    GroupResults,
    Interval,
    PortResults,
    QueueResults,
)
from ._run import Run
from ._scenario import Link, Scenario, demo, parse, read
from ._simulation import Observation, Simulation
from ._table import Table
from ._test import Tested, Tests, test
from ._tune import Point, Recommendation, Tuned, tune
from ._units import B, bit, gbit, kB, kbit, mbit, ms, packets, percent, s, us

__all__ = [
    "ArgumentError",
    "B",
    "Comparison",
    "Delivery",
    "Difference",
    "Distribution",
    "Error",
    "ExecutorError",
    "Expectation",
    "Failed",
    "FlowResults",
    "GroupResults",
    "Interval",
    "Link",
    "MetricComparison",
    "MetricError",
    "Observation",
    "Path",
    "PathRun",
    "Plan",
    "PlanError",
    "Point",
    "PortResults",
    "Problem",
    "QueueResults",
    "Recommendation",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Status",
    "StoreError",
    "Table",
    "Tested",
    "Tests",
    "Tuned",
    "VersionError",
    "__version__",
    "bit",
    "compare",
    "demo",
    "gbit",
    "kB",
    "kbit",
    "mbit",
    "ms",
    "packets",
    "parse",
    "percent",
    "read",
    "s",
    "sweep",
    "test",
    "tune",
    "us",
]
