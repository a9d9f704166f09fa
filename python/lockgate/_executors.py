"""Plans on executors (PEP 3148): sends tasks to workers, and keeps their results in the plan.

A task is finished once the plan has its row; there is no other state. A lost worker, a task that is made twice
and an executor that breaks therefore need no repair: the next call makes the missing runs.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Any

from . import _lockgate, _worker
from ._errors import Error, ExecutorError
from ._worker import Job, Made

#: Number of times that a task is sent to a worker; if each of these workers is lost, the task counts as failed.
ATTEMPTS = 4
#: Limit on the batches submitted at the same time, so that a plan with millions of runs needs little memory.
IN_FLIGHT = 512
#: Limit on the runs of a batch.
LARGEST = 64
#: Errors that `pickle` raises if it cannot write a value.
PICKLE_ERRORS = (pickle.PicklingError, TypeError, AttributeError)
#: Function and arguments of a call.
Task = tuple[Any, ...]


@dataclass(frozen=True)
class Batch:
    """Tasks of one variant that a worker makes in one call.

    Attributes:
        tasks: Their indices in the plan.
        settings: Settings of the variant.
        seeds: Their seeds.
        attempt: Number of earlier attempts.
    """

    tasks: tuple[int, ...]
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    attempt: int = 0

    def again(self) -> list[Batch]:
        """Returns a batch for each task, so that a task that ends its worker does not take others with it."""
        attempt = self.attempt + 1
        return [
            Batch((task,), self.settings, (seed,), attempt)
            for task, seed in zip(self.tasks, self.seeds, strict=True)
        ]


def batches(plan: _lockgate.Plan, tasks: list[int], size: int | None) -> Iterator[Batch]:
    """Divides tasks into batches of one variant each.

    Args:
        plan: The plan.
        tasks: Indices of the tasks, in ascending order.
        size: Largest number of tasks in a batch; by default a two-hundredth of all, from 1 to 64.
    """
    largest = size if size is not None else max(1, min(LARGEST, len(tasks) // 200))
    indices: list[int] = []
    seeds: list[int] = []
    last: tuple[int, list[str]] | None = None
    for index in tasks:
        variant, settings, seed = plan.task_of(index)
        if last is not None and (variant != last[0] or len(indices) == largest):
            yield Batch(tuple(indices), tuple(last[1]), tuple(seeds))
            indices, seeds = [], []
        last = (variant, settings)
        indices.append(index)
        seeds.append(seed)
    if last is not None:
        yield Batch(tuple(indices), tuple(last[1]), tuple(seeds))


def run(
    plan: _lockgate.Plan,
    tasks: list[int],
    executor: Executor,
    size: int | None,
    progress: Callable[[int], object],
) -> tuple[int, int]:
    """Makes tasks on an executor, and keeps their results in the plan.

    Args:
        plan: The plan.
        tasks: Indices of the tasks.
        executor: The executor. The versions of its workers are compared with the plan's before the first task.
        size: Largest number of tasks in a batch.
        progress: Called with the number of ended tasks.

    Returns:
        How many finished, and how many failed.

    Raises:
        VersionError: If a worker is of another version.
        ExecutorError: If the executor cannot run the tasks.
    """
    engine, text, name, files, metrics, memory = plan.worker_input()
    job = Job(engine, text, name, files, metrics, memory)
    if not tasks:
        return 0, 0
    compare_versions(executor, engine)
    done = failed = 0
    waiting = batches(plan, tasks, size)
    retries: list[Batch] = []
    sent: dict[Future[list[Made]], tuple[Batch, Task]] = {}
    try:
        while True:
            while len(sent) < IN_FLIGHT:
                batch = retries.pop() if retries else next(waiting, None)
                if batch is None:
                    break
                task: Task = (_worker.make, job, list(batch.settings), list(batch.seeds), batch.attempt)
                sent[submit(executor, *task)] = batch, task
            if not sent:
                return done, failed
            for future in wait(sent, return_when=FIRST_COMPLETED).done:
                batch, task = sent.pop(future)
                made = outcome(future, task)
                if isinstance(made, list):
                    for index, result in zip(batch.tasks, made, strict=True):
                        if isinstance(result, list) and len(result) != len(metrics):
                            result = f"its worker returned {len(result)} values of {len(metrics)} metrics"
                        if isinstance(result, str):
                            plan.note_failure(index, result)
                            failed += 1
                        else:
                            plan.keep(index, result)
                            done += 1
                elif len(batch.tasks) > 1 or batch.attempt + 1 < ATTEMPTS:
                    retries += batch.again()
                else:
                    why = f"its worker was lost or failed {batch.attempt + 1} times, the last time by: {made}"
                    plan.note_failure(batch.tasks[0], why)
                    failed += 1
                progress(done + failed)
    except BaseException:
        for future in sent:
            future.cancel()
        raise


def submit(executor: Executor, function: Callable[..., Any], *arguments: object) -> Future[Any]:
    """Sends a call to an executor.

    Raises:
        ExecutorError: If the executor is shut down or broken.
    """
    try:
        return executor.submit(function, *arguments)
    except (RuntimeError, BrokenExecutor) as error:
        raise broken(error) from error


def broken(error: BaseException) -> ExecutorError:
    """Returns the error that an executor takes no more tasks."""
    return ExecutorError(
        f"the executor takes no more tasks: {error or type(error).__name__}\n"
        "help: what is finished is kept; call `run` again with a new executor to make the rest"
    )


def outcome(future: Future[list[Made]], task: Task) -> list[Made] | str:
    """Returns the results of a batch; if its worker was lost or raised an error, the reason.

    Args:
        future: The future of the batch.
        task: The submitted call.

    Raises:
        VersionError: If the worker is of another version.
        ExecutorError: If another attempt would fail too.
    """
    try:
        return future.result()
    except Error:
        raise
    except BrokenExecutor as error:
        raise broken(error) from error
    except ImportError as error:
        raise ExecutorError(
            f"a worker cannot import Lockgate: {error}\n"
            f"help: install it there: pip install lockgate=={_worker.version()}"
        ) from error
    # If the worker was lost, executors differ in the error that they raise; `CancelledError` is one.
    except Exception as error:
        if isinstance(error, PICKLE_ERRORS) and not is_picklable(task):
            raise ExecutorError(f"the executor cannot send the tasks: {error}") from error
        return str(error) or type(error).__name__


def is_picklable(task: Task) -> bool:
    """Returns whether a call can be sent to another process. Errors of `pickle` have the types of ordinary
    errors, which a worker raises too; only the call itself tells them apart."""
    try:
        pickle.dumps(task)
    except PICKLE_ERRORS:
        return False
    return True


def compare_versions(executor: Executor, engine: str) -> None:
    """Compares the versions of plan and workers before the first task: of every worker if the executor knows
    them (Dask), otherwise of the first that answers. A worker checks the version of each batch again.

    Raises:
        VersionError: If a worker is of another version.
        ExecutorError: If no worker answers.
    """
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "run"):
        # An `OSError` is that of a worker that has left meanwhile; a single answer is then enough.
        with contextlib.suppress(OSError):
            client.run(_worker.check_version, engine)
            return
    for attempt in range(ATTEMPTS):
        task: Task = (_worker.hello, engine, attempt)
        answer: Future[Any] = submit(executor, *task)
        lost = outcome(answer, task)
        if not isinstance(lost, str):
            return
    raise ExecutorError(f"no worker answers: {lost}\nhelp: does the executor have workers?")
