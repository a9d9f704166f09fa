"""Tests: the expectations of several scenarios, and the differences from a baseline."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _lockgate
from ._errors import Error
from ._plan import _progress
from ._results import Expectation
from ._scenario import Scenario, read
from ._table import as_text


@dataclass(frozen=True)
class Tested:
    """Result of a scenario.

    Attributes:
        file: Path of its file, or its title.
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
        self._document = document

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
        """True if every scenario ran, and every expectation holds."""
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
        """Writes the values to a file, for a later `baseline=`. Returns its path."""
        file = Path(path)
        file.write_text(self._document["baseline"], encoding="utf-8")
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
    scenarios: Scenario | str | os.PathLike[str] | Sequence[Scenario | str | os.PathLike[str]],
    *,
    seeds: Iterable[int] = (1,),
    baseline: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Tests:
    """Runs scenarios and judges their expectations.

    Args:
        scenarios: Scenarios, or paths of their files. A file that cannot be read is a result that does not hold.
        seeds: Seeds of every scenario; expectations are judged by all runs.
        baseline: File of an earlier test (`save_baseline`, or `lockgate test --write-baseline`), with the same
            seeds: each value is compared with it.
        threads: Number of threads; by default one a processor.
        progress: True for a line on stderr, or a function of the numbers of ended and of all scenarios.

    Raises:
        RunError: If the baseline cannot be read, or is of other seeds.
        KeyboardInterrupt: If the user interrupts it.

    >>> import lockgate as lg
    >>> short = lg.demo().set({"duration": "2s", "warmup": "0s", "change.0.at": "1s"})
    >>> lg.test(short).results[0].error is None
    True
    """
    many = [scenarios] if isinstance(scenarios, (Scenario, str, os.PathLike)) else list(scenarios)
    named: list[tuple[str, _lockgate.Scenario | None, str]] = []
    for one in many:
        if isinstance(one, Scenario):
            named.append((str(one._inner.path) or one.title, one._inner, ""))
            continue
        try:
            named.append((os.fspath(one), read(one)._inner, ""))
        except Error as error:
            named.append((os.fspath(one), None, str(error)))
    tell = _progress(progress, len(named))
    file = None if baseline is None else os.fspath(baseline)
    answer = _lockgate.test(named, seeds, file, threads, tell)
    if progress is True:
        print(file=sys.stderr)
    return Tests(json.loads(answer))


test.__test__ = False  # type: ignore[attr-defined]
