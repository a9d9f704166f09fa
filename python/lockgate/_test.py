"""Tests: the expectations of several scenarios, and the differences from a baseline."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _arguments, _lockgate
from ._errors import ArgumentError, Error, RunError
from ._plan import _progress
from ._results import Expectation
from ._scenario import Scenario, read
from ._table import as_text


#: A scenario, or the path of its file.
ScenarioOrPath = Scenario | str | os.PathLike[str]


@dataclass(frozen=True)
class Tested:
    """Result of a scenario.

    Attributes:
        file: Path of its file, or its name.
        holds: True if it ran, and every expectation holds.
        error: Reason why it did not run; `None` if it did.
        expect: Expectations with their outcomes.
        text: The result in a line.
    """

    file: str
    holds: bool
    error: str | None
    expect: list[Expectation]
    text: str


class Tests:
    """Results of several scenarios. Printed, or shown in a notebook, they are the lines of `lockgate test`, and with
    a baseline the table of the differences."""

    __test__ = False  # Not a class of pytest's.

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = _arguments.mapping("document", document, "the document of a test")

    @property
    def results(self) -> list[Tested]:
        """Result of each scenario, in their order."""
        document = self._document
        return [
            Tested(
                one["file"],
                holds,
                one["error"],
                [
                    Expectation(
                        of["that"], of["holds"], of["value"], of["half_width"], tuple(of["values"]), sentence
                    )
                    for of, sentence in zip(one["expect"], sentences, strict=True)
                ],
                line,
            )
            for one, holds, line, sentences in zip(
                document["results"]["files"],
                document["holds"],
                document["lines"],
                document["sentences"],
                strict=True,
            )
        ]

    @property
    def holds(self) -> bool:
        """True if every scenario ran, every expectation holds, and nothing is worse than `fail_on_regression` allows."""
        return all(self._document["holds"])

    @property
    def junit(self) -> str:
        """Document for readers of JUnit."""
        return str(self._document["junit"])

    @property
    def warnings(self) -> list[str]:
        """What of the baseline and of these results could not be compared."""
        return list(self._document["gaps"])

    @property
    def document(self) -> dict[str, Any]:
        """All of it, as `lockgate test --json` prints it."""
        results: dict[str, Any] = self._document["results"]
        return results

    def save_baseline(self, path: str | os.PathLike[str]) -> Path:
        """Writes the values to a file, for a later `baseline=`. Returns its path.

        Raises:
            RunError: If it cannot be written.
        """
        file = Path(_arguments.path("path", path))
        try:
            file.write_text(self._document["baseline"], encoding="utf-8")
        except OSError as error:
            raise RunError(f"`{file}` cannot be written: {error.strerror}") from error
        return file

    def __str__(self) -> str:
        lines = list(self._document["lines"])
        table = self._document["differences"]
        if table is not None:
            lines += ["", as_text(table), table["note"]]
        return "\n".join([*lines, *(f"warning: {gap}" for gap in self.warnings)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from ._html import tests_page

        return tests_page(self)


def test(
    scenarios: ScenarioOrPath | Iterable[ScenarioOrPath] | Mapping[str, ScenarioOrPath],
    *,
    seeds: Iterable[int] = (1,),
    baseline: str | os.PathLike[str] | None = None,
    fail_on_regression: str | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Tests:
    """Runs scenarios and judges their expectations.

    Args:
        scenarios: Scenarios, or paths of their files, or either by name. Without one, a scenario is called by its file
            or its title; of several with the same, each by its settings, too. Results and baselines are by name. A file
            that cannot be read is a result that does not hold.
        seeds: Seeds of every scenario; expectations are judged by all runs.
        baseline: File of an earlier test (`save_baseline`, or `lockgate test --write-baseline`), with the same
            seeds: each value is compared with it.
        fail_on_regression: Share, such as `lg.percent(5)` or `"5%"`: a result does not hold if a value is worse than
            in the baseline by more than this share of the old value, and really so (Student's t).
        threads: Number of threads; by default one a processor.
        progress: True for a line on stderr, or a function of the numbers of ended and of all scenarios.

    Raises:
        ArgumentError: If there is no scenario, two have one name, or there is a share without a baseline.
        RunError: If the baseline cannot be read, or is of other seeds.
        KeyboardInterrupt: If the user interrupts it.

    >>> import lockgate as lg
    >>> short = lg.demo().set({"duration": "2s", "warmup": "0s", "change.0.at": "1s"})
    >>> lg.test(short).results[0].error is None
    True
    """
    pairs = _named(scenarios)
    if not pairs:
        raise ArgumentError("`scenarios` is empty: nothing would be tested")
    if fail_on_regression is not None:
        _arguments.text("fail_on_regression", fail_on_regression)
        if baseline is None:
            raise ArgumentError("`fail_on_regression` compares with a `baseline`: name its file")
    named: list[tuple[str, _lockgate.Scenario | None, str]] = []
    for name, one in pairs:
        try:
            named.append((name, (one if isinstance(one, Scenario) else read(one))._inner, ""))
        except Error as error:
            named.append((name, None, str(error)))
    tell = _progress(progress, len(named))
    file = None if baseline is None else _arguments.path("baseline", baseline)
    threads = _arguments.optional_whole("threads", threads, 1)
    answer = _lockgate.test(named, _arguments.seeds("seeds", seeds), file, fail_on_regression, threads, tell)
    if progress is True:
        print(file=sys.stderr)
    return Tests(json.loads(answer))


def _named(scenarios: object) -> list[tuple[str, ScenarioOrPath]]:
    """Returns scenarios and paths with their names.

    Raises:
        ArgumentError: If one is neither, or two have one name.
    """
    if isinstance(scenarios, (Scenario, str, os.PathLike)):
        scenarios = [scenarios]
    what = "scenarios, or paths of their files"
    if isinstance(scenarios, Mapping):
        pairs: Iterable[tuple[object, object]] = scenarios.items()
    else:
        pairs = (("", one) for one in _arguments.several("scenarios", scenarios, what))
    named = [
        (_arguments.text("a name", name), one if isinstance(one, Scenario) else _arguments.path("scenarios", one))
        for name, one in pairs
    ]
    plain = [name or _name(one) for name, one in named]
    found: dict[str, ScenarioOrPath] = {}
    for name, (_, one) in zip(plain, named, strict=True):
        if plain.count(name) > 1 and isinstance(one, Scenario):
            name = " ".join([name, *one.settings])
        if name in found:
            raise ArgumentError(
                f"two scenarios are called `{name}`, and results and baselines are by name\n"
                "help: name them, as `{'slow': ..., 'fast': ...}`, or give them other titles"
            )
        found[name] = one
    return list(found.items())


def _name(one: Scenario | str) -> str:
    return one if isinstance(one, str) else one._inner.path or one.title


test.__test__ = False  # type: ignore[attr-defined]
