"""Costs of Python beside the simulation: a step, an observation, and a sweep beside that of the command."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lockgate as lg


def line(duration: str, gap: str) -> lg.Scenario:
    """Returns a link with one flow."""
    return lg.Scenario(
        "a line",
        duration=duration,
        node={"a": {}, "b": {}},
        link={"line": {"between": ["a", "b"], "rate": "1mbit"}},
        flow={"one": {"from": "a", "to": "b", "transport": "udp", "size": "500B", "gap": gap}},
    )


def seconds(work: Callable[[], object], times: int) -> float:
    """Returns the median duration of a call, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def sweeps(folder: Path) -> tuple[float, float]:
    """Returns the time of a thousand runs of 1 ms into a store: from Python, and by the command, in seconds."""
    path = folder / "line.toml"
    line("1ms", "5ms").save(path)
    what = ["--vary", "link.line.rate=1mbit", "--seeds", "1..1000", "--show", "flow.one.sent_packets"]
    stores = iter(range(1_000_000))

    def ours() -> None:
        vary, metrics = {"link.line.rate": ["1mbit"]}, ["flow.one.sent_packets"]
        into = folder / str(next(stores))
        lg.sweep(lg.read(path), vary, seeds=range(1, 1001), metrics=metrics, into=into).run().collect()

    def theirs() -> None:
        command = [sys.executable, "-m", "lockgate", "sweep", str(path), *what, "--quiet"]
        subprocess.run([*command, "--into", str(folder / str(next(stores)))], check=True, stdout=subprocess.DEVNULL)

    return seconds(ours, 7), seconds(theirs, 7)


def main() -> None:
    """Prints the costs."""
    idle = line("1000s", "500s").simulation()
    print(f"a step of 10 ms without events: {seconds(lambda: idle.step(by=0.01), 20_000) * 1e6:.2f} us")

    def look() -> None:
        idle.step(by=0.01)
        idle.observe()

    print(f"a step and an observation: {seconds(look, 5_000) * 1e6:.0f} us")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = sweeps(Path(folder))
    print(f"1000 runs of 1 ms: {ours:.2f} s from Python, {theirs:.2f} s by the command: {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
