"""Runs in steps: advanced, observed and changed from Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from . import _arguments, _lockgate
from ._errors import MetricError, refuse_pickle
from ._run import Run
from ._scenario import Scenario, settings
from ._toml import Value
from ._units import Time

_KEYS = {"at_s", "interval_s", "flows", "ports"}
_SEGMENT = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*(?:\.|$)""")


class Observation:
    """State of a simulation at one instant, and figures of the interval since the last observation.

    Attributes:
        time: The instant, in seconds since the start of the run.
        interval: Length of the interval, in seconds.
        flows: Figures of each flow by name: `offered_bps`, `received_bps`, `lost_packets`, `owd_p50_s`,
            `owd_p99_s`, `cwnd_bytes`, `rtt_s`, `sent_packets`, `received_packets`, `lost_packets_total`. `None`
            if nothing was observed.
        ports: Figures of each port by name: `sent_bps`, `ring_packets`, and `queues` by name. A queue has
            `packets` and `bytes` (its backlog now), `peak_packets`, `offered_bps`, `sent_bps`, `sent_packets`,
            `dropped_packets`, `marked_packets`, `sojourn_mean_s`, `sojourn_p50_s`, `sojourn_p99_s`, and in
            `gauges` the figures of its discipline.
        document: The whole observation as plain data.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        if not isinstance(document, dict) or not _KEYS <= document.keys():
            raise _arguments.wrong("document", document, "the document of an observation")
        self.document = document
        self.time: float = document["at_s"]
        self.interval: float = document["interval_s"]
        self.flows: dict[str, dict[str, Any]] = {flow["name"]: flow for flow in document["flows"]}
        self.ports: dict[str, dict[str, Any]] = {}
        for port in document["ports"]:
            queues = {}
            for queue in port["queues"]:
                queues[queue["name"]] = {**queue, "gauges": dict(queue["gauges"])}
            self.ports[port["name"]] = {**port, "queues": queues}

    def __getitem__(self, address: str) -> float | None:
        """Returns a figure by its address; `None` if nothing was observed.

        Args:
            address: `flow.NAME.FIGURE`, `port.NAME.FIGURE` (of the port, or of its root queue) or
                `port.NAME.queue.NAME.FIGURE`, where a gauge of the discipline is a figure, too.

        Raises:
            MetricError: If there is no such figure.
        """
        table: Mapping[str, Any]
        match split(address):
            case ["flow", name, figure] if name in self.flows:
                table = self.flows[name]
            case ["port", port, figure] if (name := port.replace("->", ":")) in self.ports:
                queues = list(self.ports[name]["queues"].values())
                table = {**(queues[0] if queues else {}), **self.ports[name]}
            case ["port", port, "queue", queue, figure] if queue in self._queues(port):
                found = self._queues(port)[queue]
                table = {**found["gauges"], **found}
            case _:
                names = [f"flow.{name}" for name in self.flows] + [f"port.{name}" for name in self.ports]
                raise MetricError(f"`{address}` is not observed\nhelp: there are {', '.join(names)}")
        value = table.get(figure, table)
        if isinstance(value, (int, float)) or value is None:
            return value
        figures = [name for name, of in table.items() if isinstance(of, (int, float)) or of is None]
        raise MetricError(f"`{address}` is not a figure\nhelp: there are {', '.join(figures)}")

    def _queues(self, port: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.ports.get(port.replace("->", ":"), {}).get("queues", {})
        return found

    def __eq__(self, other: object) -> bool:
        return self.document == other.document if isinstance(other, Observation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.time, self.interval))

    def __repr__(self) -> str:
        return f"<lockgate.Observation at {self.time:g} s, of {self.interval:g} s>"


def split(address: str) -> list[str]:
    """Returns the parts of an address. Names with dots are in quotes.

    >>> split('port.a:b.queue."10.0.0.1".packets')
    ['port', 'a:b', 'queue', '10.0.0.1', 'packets']
    """
    address = _arguments.text("address", address)
    parts, at = [], 0
    while at < len(address):
        found = _SEGMENT.match(address, at)
        if found is None:
            raise MetricError(f"`{address}` is malformed\nhelp: names are separated by dots")
        parts.append(next(part for part in found.groups() if part is not None).strip())
        at = found.end()
    return parts


class Simulation:
    """A run that is advanced step by step. Its outcome is that of `Scenario.run`, whatever the steps.

    Threads and signal handlers may use it at the same time, also beside a long `step`.

    >>> import lockgate as lg
    >>> sim = lg.demo().simulation(seed=1)
    >>> sim.step(until=lg.s(5))
    True
    >>> sim.set("port.router:client.root", "fair")
    >>> sim.step(by=0.5), sim.time
    (True, 5.5)
    >>> sim.finish().holds
    True
    """

    def __init__(self, scenario: Scenario, seed: int = 1) -> None:
        """Builds the network. Nothing has happened yet.

        Args:
            scenario: The scenario.
            seed: Seed of the random draws.
        """
        self._scenario = _arguments.instance("scenario", scenario, Scenario, "a scenario")
        self._inner = _lockgate.Simulation(scenario._inner, _arguments.whole("seed", seed))

    @property
    def scenario(self) -> Scenario:
        """The scenario, without the changes made during the run; `Run.scenario` has these."""
        return self._scenario

    @property
    def time(self) -> float:
        """Time up to which everything has happened, in seconds."""
        return self._inner.time

    @property
    def has_ended(self) -> bool:
        """True if the run has come to the end of its scenario."""
        return self._inner.has_ended

    def step(self, until: Time | None = None, *, by: Time | None = None) -> bool:
        """Advances the run, with the GIL released. Ctrl-C stops in between.

        Args:
            until: Time to advance to, since the start of the run: seconds, or a text such as `"10ms"`. Not before
                the time of the run.
            by: Length of the step instead. With neither, the run advances to its end.

        Returns:
            False once the run has ended.

        Raises:
            RunError: If the simulation is finished.
        """
        until = None if until is None else _arguments.time("until", until)
        by = None if by is None else _arguments.time("by", by)
        return self._inner.step(until, by)

    def set(self, path: str | Mapping[str, Value], value: Value | None = None) -> None:
        """Changes a value from now on, or several at one instant, as a `[[change]]` of the scenario does.

        Args:
            path: Path of the value, such as `"link.wan.rate"` or `"port.a:b.queue.q.limit"`; or values by path.
            value: The value.

        Raises:
            ScenarioError: If it cannot be changed so. Nothing is changed then.
        """
        self._inner.set(settings(path, value))

    def observe(self) -> Observation:
        """Returns the state now, and figures of the interval since the last observation."""
        return Observation(json.loads(self._inner.observe()))

    def finish(self) -> Run:
        """Ends the run now. Returns its results, until now.

        Raises:
            RunError: If it is finished already.
        """
        run, scenario = self._inner.finish()
        return Run(Scenario._of(scenario), run)

    def __reduce__(self) -> Any:
        refuse_pickle(self, "send its scenario and seed, and make the steps there")

    def __repr__(self) -> str:
        return f"<lockgate.Simulation of {self._scenario.title!r}>"
