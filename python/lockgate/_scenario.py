"""Scenarios: read from a file or a text, or built from Python values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arguments, _lockgate, _toml
from ._errors import ArgumentError
from ._toml import Value
from ._units import Quantity

if TYPE_CHECKING:
    from ._run import Run
    from ._simulation import Simulation

#: Limit on the memory of a scenario's files and of each of its runs, in bytes: 2 GiB.
MEMORY: int = _lockgate.MEMORY


class Link(NamedTuple):
    """A link of a scenario.

    Attributes:
        name: Name.
        ends: Names of the nodes at its ends.
        rate: Rate from the first end to the second, in bits per second.
        delay: Propagation delay in that direction, in seconds.
    """

    name: str
    ends: tuple[str, str]
    rate: float
    delay: float


class Scenario:
    """A network with its traffic, its changes and the expectations on its results.

    Immutable: `set` returns another one. The files that it names are read once, with it: whatever is made from it has
    their contents of then. It can be pickled, with these, and sent to another process or machine.

    Built from Python values, each argument is a table of the scenario file (`lockgate list` and
    docs/reference/scenario.md have every key). Quantities are texts with their unit, or made by `lockgate.ms`,
    `lockgate.mbit` and their like:

    >>> import lockgate as lg
    >>> line = lg.Scenario(
    ...     "half of a link",
    ...     duration=lg.s(1),
    ...     node={"a": {}, "b": {}},
    ...     link={"line": {"between": ["a", "b"], "rate": lg.mbit(2)}},
    ...     flow={"f": {"from": "a", "to": "b", "transport": "udp", "size": "1250B", "rate": "1mbit"}},
    ... )
    >>> line.flows, line.duration
    (['f'], 1.0)
    >>> line.run().flows["f"].sent_packets
    100
    """

    __slots__ = ("__weakref__", "_inner")

    _inner: _lockgate.Scenario

    def __init__(
        self,
        title: str,
        *,
        duration: Quantity,
        node: Mapping[str, Value],
        link: Mapping[str, Value],
        flow: Mapping[str, Value],
        port: Mapping[str, Value] | None = None,
        change: Sequence[Value] = (),
        expect: Sequence[Value] = (),
        vary: Sequence[Value] = (),
        memory: int = MEMORY,
        **others: Value,
    ) -> None:
        """Builds a scenario.

        Args:
            title: Subject, in one line.
            duration: Length of the run, such as `"20s"`.
            node: Hosts and routers, by name.
            link: Links, by name.
            flow: Flows, by name.
            port: Trees of queues, by port: `"a:b"` leaves `a` for `b`.
            change: Changes during the run.
            expect: Expectations on the results.
            vary: Variations for `compare` and `sweep`.
            memory: Limit on the memory of its files and of each of its runs, in bytes.
            **others: Other keys of the scenario file: `warmup`, `record`, `subscribers`.

        Raises:
            ScenarioError: Every problem, with its place in the text that `to_toml` would give.
        """
        title = _arguments.text("title", title)
        tables: dict[str, Value] = {"title": title, "duration": duration, **others}
        for name, table in (("node", node), ("link", link), ("flow", flow), ("port", port)):
            if table is not None or name != "port":
                tables[name] = _arguments.mapping(name, table, "a table of the parts by name")
        for name, several in (("change", change), ("expect", expect), ("vary", vary)):
            of_name = [_arguments.mapping(name, one, "tables") for one in _arguments.several(name, several, "tables")]
            if of_name:
                tables[name] = of_name
        self._inner = _parsed(_toml.document(tables), title, memory)

    @classmethod
    def _of(cls, inner: _lockgate.Scenario) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._inner = inner
        return scenario

    def set(self, path: str | Mapping[str, Value], value: Value | None = None) -> Scenario:
        """Returns the scenario with another value, or with several.

        Args:
            path: Path of the value as after `--set`, such as `"port.router:modem.root"`; or values by path.
            value: The value: a text with its unit, a number, a truth, a list or a table.

        Raises:
            ScenarioError: If there is no such path, or the value is wrong.

        >>> import lockgate as lg
        >>> lg.demo().set("duration", lg.s(90)).duration
        90.0
        """
        return Scenario._of(self._inner.with_settings(settings(path, value)))

    @property
    def title(self) -> str:
        """Subject, in one line."""
        return self._inner.title

    @property
    def duration(self) -> float:
        """Length of the run, in seconds."""
        return self._inner.duration

    @property
    def warmup(self) -> float:
        """Time at the start that statistics leave out, in seconds."""
        return self._inner.warmup

    @property
    def nodes(self) -> list[str]:
        """Names of the hosts and routers."""
        return self._inner.nodes

    @property
    def flows(self) -> list[str]:
        """Names of the flows; those over TCP have a second one, `NAME/return`."""
        return self._inner.flows

    @property
    def links(self) -> list[Link]:
        """Links, in the order of the file."""
        return [Link(name, (one, other), rate, delay) for name, one, other, rate, delay in self._inner.links]

    @property
    def ports(self) -> dict[str, list[str]]:
        """Names of the queues of each port, by its name."""
        return dict(self._inner.ports)

    @property
    def settings(self) -> list[str]:
        """Settings that were applied to the text, each `PATH=VALUE`."""
        return self._inner.settings

    @property
    def warnings(self) -> list[str]:
        """Warnings, as the command prints them: valid, but probably not meant."""
        return self._inner.warnings

    def to_toml(self) -> str:
        """Returns the scenario as a file, with its settings applied and comments kept."""
        return self._inner.to_toml()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scenario to a file that `lockgate run` and `lockgate.read` take, whole or not at all.

        Args:
            path: A new file, or a scenario file, which is replaced.

        Raises:
            RunError: If it is another file or a link, or cannot be written.
        """
        self._inner.save(_arguments.path("path", path))

    def run(
        self,
        seed: int | None = None,
        *,
        seeds: Iterable[int] | None = None,
        threads: int | None = None,
        packets: bool = False,
        effects: bool = False,
    ) -> Run:
        """Simulates the scenario. The GIL is released, and Ctrl-C ends the run.

        Args:
            seed: Seed of the random draws, 1 by default. The same scenario and seed give the same results, on any
                machine.
            seeds: Several seeds instead, none twice: one run each. Expectations are judged by all of them.
            threads: Number of threads; by default one a processor.
            packets: Keeps a row of each packet at each port, for `Run.packets`.
            effects: Says of each `[[change]]` what it did, as `lockgate run` does: by the same seeds without it, and up
                to eight further pairs of runs. Without them the summary tells before and after.

        Raises:
            ArgumentError: If both `seed` and `seeds` are given.
            PlanError: If a seed is named twice, or there are none or more than ten thousand.
            RunError: If the run fails or needs more memory than is allowed.
        """
        from ._run import Run

        if seed is not None and seeds is not None:
            raise ArgumentError("both `seed` and `seeds` are given: name one of them")
        one = _arguments.whole("seed", 1 if seed is None else seed)
        all_seeds = _arguments.seeds("seeds", [one] if seeds is None else seeds)
        threads = _arguments.optional_whole("threads", threads, 1)
        wanted = _arguments.truth("packets", packets), _arguments.truth("effects", effects)
        return Run(self, _lockgate.simulate(self._inner, all_seeds, threads, *wanted))

    def simulation(self, seed: int = 1) -> Simulation:
        """Returns a run that is advanced step by step, observed and changed.

        Args:
            seed: Seed of the random draws.
        """
        from ._simulation import Simulation

        return Simulation(self, seed)

    def __reduce__(self) -> tuple[Any, ...]:
        inner = self._inner
        return _restore, (inner.text, inner.name, inner.path, inner.settings, inner.memory, inner.loaded())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        one, two = self._inner, other._inner
        texts = (one.text, one.settings, one.path) == (two.text, two.settings, two.path)
        return texts and one.has_files_of(two)

    def __hash__(self) -> int:
        return hash((self._inner.text, tuple(self._inner.settings)))

    def __repr__(self) -> str:
        sizes = f"{len(self.nodes)} nodes, {len(self.links)} links, {len(self.flows)} flows"
        return f"<lockgate.Scenario {self.title!r}: {self.duration:g} s, {sizes}>"

    def _repr_html_(self) -> str:
        from ._html import scenario_page

        return scenario_page(self)


def _restore(
    text: str, name: str, path: str, applied: list[str], memory: int, files: Mapping[str, bytes] | None = None
) -> Scenario:
    """Reads a scenario that was pickled, with its files; versions before 0.3 pickled none."""
    return Scenario._of(_lockgate.Scenario.parse(text, name, path, applied, memory, files))


def _parsed(text: str, name: str, memory: int) -> _lockgate.Scenario:
    return _lockgate.Scenario.parse(text, name, "", [], _arguments.whole("memory", memory))


def of(scenario: Scenario | str | os.PathLike[str]) -> Scenario:
    """Returns the scenario that a function was called with: itself, or read from its file.

    Raises:
        ArgumentError: If it is neither a scenario nor a path.
    """
    if isinstance(scenario, Scenario):
        return scenario
    if not isinstance(scenario, (str, os.PathLike)):
        raise _arguments.wrong("scenario", scenario, "a scenario, or the path of its file")
    return read(scenario)


def settings(path: str | Mapping[str, Value], value: Value | None) -> list[str]:
    """Returns settings, each `PATH=VALUE`.

    Raises:
        ArgumentError: If there is a path without a value, or neither a path nor values by path.
    """
    if not isinstance(path, (str, Mapping)):
        raise ArgumentError(f"set() takes a path, or values by path, and not a `{type(path).__name__}`")
    if isinstance(path, str):
        if value is None:
            raise ArgumentError(f"set({_arguments.shown(path)}) has no value: write set(PATH, VALUE)")
        return [_toml.setting(path, value)]
    return [_toml.setting(one, of) for one, of in path.items()]


def read(path: str | os.PathLike[str], *, memory: int = MEMORY) -> Scenario:
    """Reads a scenario file. The files that it names are beside it, or in the current directory.

    Args:
        path: Path of the file.
        memory: Limit on the memory of its files and of each of its runs, in bytes.

    Raises:
        ScenarioError: If the file cannot be read, or has problems: each with its place underlined.
    """
    path, memory = _arguments.path("path", path), _arguments.whole("memory", memory)
    return Scenario._of(_lockgate.Scenario.read(path, [], memory))


def parse(text: str, name: str = "scenario", *, memory: int = MEMORY) -> Scenario:
    """Reads a scenario from a text. The files that it names are in the current directory.

    Args:
        text: The text, in TOML.
        name: Name in messages.
        memory: Limit on the memory of its files and of each of its runs, in bytes.

    Raises:
        ScenarioError: Every problem of the text, with its place underlined.
    """
    return Scenario._of(_parsed(_arguments.text("text", text), _arguments.text("name", name), memory))


def demo() -> Scenario:
    """Returns the scenario of `lockgate demo`: a call behind a second of buffer, and its cure half-way.

    >>> demo().flows[0]
    'call'
    """
    return parse(_lockgate.DEMO, "demo")
