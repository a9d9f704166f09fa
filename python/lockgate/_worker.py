"""Tasks of a plan on a worker: the functions that an executor calls in another process."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from . import _lockgate
from ._errors import VersionError

#: Result of a run: the value of each metric (`None` without one), or the reason why the run failed.
Made = list[float | None] | str


@dataclass(frozen=True)
class Job:
    """Data that all tasks of a plan share. It is plain, so that any executor can send it.

    Attributes:
        engine: Version of Lockgate that made the plan.
        text: Text of the scenario.
        name: Name of the scenario in messages.
        files: Contents of the files that it names, by name, so that workers need no files.
        metrics: Addresses of the metrics.
        memory: Limit on the memory of a run, in bytes.
    """

    engine: str
    text: str
    name: str
    files: dict[str, bytes]
    metrics: list[str]
    memory: int


def version() -> str:
    """Returns the version of Lockgate here."""
    return _lockgate.__version__


def check_version(engine: str) -> None:
    """Checks that this worker makes the same runs as the plan's owner.

    Raises:
        VersionError: If it is of another version.
    """
    if version() != engine:
        raise VersionError(
            f"the worker is of version {version()}, and the plan of {engine}\n"
            f"help: install the same version there: pip install lockgate=={engine}"
        )


def hello(engine: str, attempt: int) -> tuple[str, str]:
    """Answers the first task of a plan: the versions of Lockgate and Python here.

    Args:
        engine: Version of the plan.
        attempt: Number of the call; makes its arguments differ from those of the last.

    Raises:
        VersionError: If this worker is of another version.
    """
    check_version(engine)
    return version(), sys.version.split()[0]


def make(job: Job, settings: list[str], seeds: list[int], attempt: int) -> list[Made]:
    """Makes runs of one variant, for several seeds. A failed run does not affect the others.

    Args:
        job: Data that all tasks share.
        settings: Settings of the variant.
        seeds: Seeds.
        attempt: Number of the attempt. It makes the arguments differ from those of the last attempt.

    Returns:
        The result of each seed.

    Raises:
        VersionError: If this worker is of another version.
    """
    check_version(job.engine)
    return _lockgate.run_batch(job.text, job.name, job.files, settings, seeds, job.metrics, job.memory)
