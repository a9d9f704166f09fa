"""Executors: the rows of this process, whatever happens to workers; a failed run costs its row and no other."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg
from lockgate import _executors, _lockgate, _worker

RATES = {"link.line.rate": ["1mbit", "1200kbit", "1500kbit"]}
SPAWN = multiprocessing.get_context("spawn")


def test_processes_give_the_bytes_of_threads(line: lg.Scenario, tmp_path: Path) -> None:
    here = lg.sweep(line, RATES, seeds=range(8), into=tmp_path / "here").run().collect()
    plan = lg.sweep(line, RATES, seeds=range(8), into=tmp_path / "there")
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        plan.run(executor, batch=3)
    assert Path(plan.collect()).read_bytes() == Path(here).read_bytes()


def test_a_run_that_fails_costs_its_row_and_no_other(line: lg.Scenario) -> None:
    """A queue without limit before a slow link needs more memory than is allowed, in one variant of three."""
    flood = lg.parse(
        line.set(
            {
                "duration": "3s",
                "flow.one.gap": "300ns",
                "flow.one.size": "64B",
                "port.a:b.queue.q": {"kind": "fifo", "limit": "100p"},
                "link.line.rate": "10gbit",
            }
        ).to_toml(),
        memory=64 << 20,
    )
    limits = ["100p", "100000000p", "200p"]
    plan = lg.sweep(flood, {"port.a:b.queue.q.limit": limits, "link.line.rate": ["1kbit"]}, seeds=[1])
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        plan.run(executor, batch=1)
    assert plan.status == lg.Status(3, 2, 1) and len(plan.table()) == 2
    (failed,) = plan.failed
    assert "of memory" in failed.error and "64 MiB are allowed" in failed.error
    assert failed.command.startswith("lockgate run 'scenario.toml' --seed 1 --memory 64MiB --set ")
    assert "--set 'port.a:b.queue.q.limit=100000000p'" in failed.command
    assert str(plan.compare())


def die_once(folder: str) -> None:
    """Ends this worker, the first time that it is called."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    os._exit(1)


class Lossy(Executor):
    """Executor whose tasks are lost now and then, as those of workers that are killed."""

    def __init__(self, lost: set[int]) -> None:
        self._threads, self._lost, self._calls = ThreadPoolExecutor(2), lost, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._calls += 1
        # What a cluster sends must be plain.
        fn, args = pickle.loads(pickle.dumps((fn, args)))
        if self._calls not in self._lost:
            return self._threads.submit(fn, *args, **kwargs)
        lost: Future[Any] = Future()
        lost.set_exception(ConnectionError("the worker is gone"))
        return lost


def test_lost_tasks_are_sent_again(line: lg.Scenario) -> None:
    expected = lg.sweep(line, RATES, seeds=range(8)).run().table().to_dict()
    for lost in ({1}, {2, 3, 5, 8, 13}, set(range(2, 8))):
        plan = lg.sweep(line, RATES, seeds=range(8)).run(Lossy(lost), batch=4)
        assert plan.table().to_dict() == expected, lost


def test_a_run_that_ends_every_worker_fails_alone(line: lg.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    make = _worker.make

    def deadly(job: _worker.Job, settings: list[str], seeds: list[int], attempt: int) -> list[_worker.Made]:
        if 3 in seeds and "link.line.rate=1200kbit" in settings:
            raise ConnectionError("the worker is gone")
        return make(job, settings, seeds, attempt)

    monkeypatch.setattr(_worker, "make", deadly)
    plan = lg.sweep(line, RATES, seeds=range(5))
    with ThreadPoolExecutor(2) as executor:
        plan.run(executor, batch=5)
    assert plan.status == lg.Status(15, 14, 1)
    assert plan.failed[0].seed == 3 and "lost or failed 4 times, the last time by: the worker is gone" in plan.failed[0].error


def test_an_error_of_a_worker_is_no_error_of_the_executor(
    line: lg.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = _worker.make

    def wrong(job: _worker.Job, settings: list[str], seeds: list[int], attempt: int) -> list[_worker.Made]:
        if 3 in seeds and "link.line.rate=1200kbit" in settings:
            raise TypeError("unsupported operand")
        return make(job, settings, seeds, attempt)

    # As `pickle` finds a function by its name.
    wrong.__module__, wrong.__qualname__ = _worker.__name__, "make"
    monkeypatch.setattr(_worker, "make", wrong)
    plan = lg.sweep(line, RATES, seeds=range(5))
    with ThreadPoolExecutor(2) as executor:
        plan.run(executor, batch=5)
    assert plan.status == lg.Status(15, 14, 1)
    assert plan.failed[0].seed == 3 and "unsupported operand" in plan.failed[0].error


def test_a_task_that_cannot_be_sent_is_reported(line: lg.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_worker, "make", lambda *_: [])
    plan = lg.sweep(line, RATES, seeds=[1])
    with (
        ProcessPoolExecutor(1, mp_context=SPAWN) as executor,
        pytest.raises(lg.ExecutorError, match="the executor cannot send the tasks: "),
    ):
        plan.run(executor)
    assert plan.status.finished == 0


def test_a_killed_pool_keeps_what_is_finished(line: lg.Scenario, tmp_path: Path) -> None:
    plan = lg.sweep(line, RATES, seeds=range(8), into=tmp_path / "store")
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        executor.submit(die_once, str(tmp_path / "died"))
        with pytest.raises(lg.ExecutorError, match="what is finished is kept"):
            plan.run(executor, batch=1)
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        assert plan.run(executor, batch=4).status.missing == 0


def other_version() -> None:
    """Makes this worker one of another version."""
    _worker.version = lambda: "9.9.9"


def test_versions_are_compared_before_the_first_task(line: lg.Scenario) -> None:
    plan = lg.sweep(line, RATES, seeds=range(8))
    with ProcessPoolExecutor(1, mp_context=SPAWN, initializer=other_version) as executor:
        with pytest.raises(lg.VersionError, match="the worker is of version 9.9.9, and the plan of"):
            plan.run(executor)
    assert plan.status.finished == 0


def test_what_is_no_executor_is_refused(line: lg.Scenario) -> None:
    plan = lg.sweep(line, RATES, seeds=[1])
    with pytest.raises(TypeError, match="PEP 3148"):
        plan.run(4)  # type: ignore[arg-type]
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(lg.ExecutorError, match="takes no more tasks"):
        plan.run(closed)
    with pytest.raises(ValueError, match="it is at least 1"), ThreadPoolExecutor(1) as executor:
        plan.run(executor, batch=0)


class Short(ThreadPoolExecutor):
    """Loses the last value of each row."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def shortened() -> Any:
            made = fn(*args, **kwargs)
            return [row[:-1] for row in made] if isinstance(made, list) else made

        return super().submit(shortened)


def test_a_row_of_another_length_is_a_failure(line: lg.Scenario) -> None:
    plan = lg.sweep(line, RATES, seeds=[1])
    with Short(1) as executor:
        plan.run(executor)
    assert plan.status == lg.Status(3, 0, 3) and "returned 0 values of 1 metrics" in plan.failed[0].error
    with pytest.raises(lg.RunError, match="0 values, and the plan 1 metrics"):
        plan._inner.keep(0, [])
    assert plan.run().status == lg.Status(3, 3, 0)


def test_batches_are_of_one_variant(line: lg.Scenario) -> None:
    plan = lg.sweep(line, RATES, seeds=range(5))._inner
    found = list(_executors.batches(plan, plan.missing(), 2))
    assert [batch.tasks for batch in found] == [
        (0, 1), (2, 3), (4,), (5, 6), (7, 8), (9,), (10, 11), (12, 13), (14,),
    ]  # fmt: skip
    assert found[3].settings == ("link.line.rate=1200kbit",) and found[3].seeds == (0, 1)


def test_files_of_a_scenario_are_sent_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.txt").write_text("0\n10\n20\n30\n")
    text = """
    duration = "1s"
    node = { a = {}, b = {} }
    link.line = { between = ["a", "b"], trace = "trace.txt" }
    flow.one = { from = "a", to = "b", size = "500B", gap = { distribution = "exponential", mean = "20ms" } }
    """
    plan = lg.sweep(lg.parse(text), {"flow.one.size": ["400B", "500B"]}, seeds=[1, 2])
    expected = plan.run().table().to_dict()
    again = lg.sweep(lg.parse(text), {"flow.one.size": ["400B", "500B"]}, seeds=[1, 2])
    assert again._inner.worker_input()[3] == {"trace.txt": b"0\n10\n20\n30\n"}

    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            Path("trace.txt").unlink(missing_ok=True)
            return super().submit(fn, *args, **kwargs)

    with Elsewhere(1) as executor:
        assert again.run(executor).table().to_dict() == expected


@pytest.mark.filterwarnings("ignore")
def test_dask_survives_workers_that_are_killed(line: lg.Scenario, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    seeds = range(40)
    longer = line.set({"duration": "20s", "flow.one.gap.mean": "2ms"})
    here = lg.sweep(longer, RATES, seeds=seeds, into=tmp_path / "here").run().collect()
    plan = lg.sweep(longer, RATES, seeds=seeds, into=tmp_path / "there")
    killed: list[int] = []
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:

        def kill(ended: int, all: int) -> None:
            """Kills a worker whenever some more runs have ended, so that a slow machine gets on, too."""
            if ended < all and ended // 20 > len(killed):
                pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid not in (None, *killed)]
                for pid in pids[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        plan.run(client.get_executor(), batch=4, progress=kill)
    assert len(killed) >= 3, "the test is to lose workers"
    assert Path(plan.collect()).read_bytes() == Path(here).read_bytes()


def test_a_killed_client_resumes_with_what_is_missing(line_file: Path, command: list[str]) -> None:
    script = (
        "import lockgate as lg\n"
        "vary = {'link.line.rate': ['1mbit', '2mbit']}\n"
        "plan = lg.sweep(lg.read('line.toml'), vary, seeds=range(500), into='store')\n"
        "plan.run(threads=1)\n"
    )
    client = subprocess.Popen([command[0], "-c", script])
    while len(list(Path("store/parts").glob("*.parquet"))) < 5:
        assert client.poll() is None
    client.kill()
    client.wait()
    plan = lg.open("store")
    kept = plan.status.finished
    assert 5 <= kept < 1000
    made = {path.name: path.stat().st_mtime_ns for path in Path("store/parts").glob("*.parquet")}
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        plan.run(executor)
    assert plan.status.missing == 0
    assert all(Path("store/parts", name).stat().st_mtime_ns == at for name, at in made.items()), "made again"
    assert _lockgate.__version__ == lg.__version__
