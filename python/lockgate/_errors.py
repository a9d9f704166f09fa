"""Exceptions: every error of Lockgate is an `Error`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Error(Exception):
    """An error of Lockgate. Its text ends with a line that begins with `help:` where there is a remedy."""


class ArgumentError(Error, TypeError, ValueError):
    """An argument of a function is of a wrong kind, or outside its range."""


@dataclass(frozen=True)
class Problem:
    """A problem of a scenario.

    Attributes:
        message: The problem, in lower case.
        help: Remedy, if one is known.
        line: Line of the scenario's text, from 1; `None` if the problem has no position.
        column: Column in that line, from 1, in characters.
        text: The problem as the command prints it: the line, the place underlined, the help.
    """

    message: str
    help: str | None
    line: int | None
    column: int | None
    text: str


class ScenarioError(Error, ValueError):
    """A scenario cannot be read. Its text has every problem, each with the place underlined.

    Attributes:
        problems: The problems, in the order of the file; empty if the file itself cannot be read.
    """

    problems: list[Problem]

    def __init__(
        self, title: str, problems: Sequence[tuple[str, str | None, int | None, int | None, str]] = ()
    ) -> None:
        super().__init__(title, problems)
        self.title = title
        self.problems = [Problem(*fields) for fields in problems]

    def __str__(self) -> str:
        return "\n".join([self.title, *(problem.text for problem in self.problems)])


class MetricError(Error, KeyError):
    """An address names no metric, flow, port, queue or series; or nothing was observed there."""

    def __str__(self) -> str:
        # `KeyError` shows its argument in quotes, with escaped line ends.
        return str(self.args[0]) if self.args else ""


class PlanError(Error, ValueError):
    """A variation of a plan is wrong: its path, a value, its range."""


class StoreError(Error):
    """A store of a sweep cannot be used: it holds another plan, or cannot be read or written."""


class VersionError(Error):
    """A store or a worker is of another version of Lockgate, whose results could differ."""


class ExecutorError(Error):
    """An executor cannot run the tasks of a plan. Finished runs are kept."""


class RunError(Error, RuntimeError):
    """A run failed, needs more memory than is allowed, or is finished already."""


def refuse_pickle(thing: object, instead: str) -> Any:
    """Raises the error that an object cannot be sent to another process.

    Args:
        thing: The object.
        instead: What to send instead.

    Raises:
        TypeError: Always, as `pickle` expects it.
    """
    raise TypeError(f"a {type(thing).__name__} cannot be pickled: {instead}")
