"""What the tests share: a small scenario, and the record of skipped tests that `make test` prints."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import lockgate as lg

# Processes that tests start have the same package.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(lg.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
)

LINE = """\
title    = "a line"
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[flow]
one = { from = "a", to = "b", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }

[[expect]]
that = "flow.one.owd.p99"
below = "10s"
"""


@pytest.fixture
def line() -> lg.Scenario:
    """A link with one random flow, whose p99 delay is expected below ten seconds."""
    return lg.parse(LINE, "line.toml")


@pytest.fixture
def line_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same scenario as `line.toml` in the current directory."""
    monkeypatch.chdir(tmp_path)
    path = Path("line.toml")
    path.write_text(LINE)
    return path


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records a skipped test as the tests in Rust do (crates/testing)."""
    record(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Records a skipped file."""
    record(report)


def record(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Appends the name and the reason of what was skipped to the file that `make test` names."""
    path = os.environ.get("LOCKGATE_SKIPPED")
    if not report.skipped or path is None or not isinstance(report.longrepr, tuple):
        return
    name = report.nodeid.removesuffix(".py").rpartition("/")[2].replace(".py::", "::").split("[")[0]
    reason = str(report.longrepr[2]).removeprefix("Skipped: ").splitlines()[0]
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"python::{name}: {reason}\n")


@pytest.fixture
def command() -> list[str]:
    """The command of this package, as a list to which arguments are appended."""
    return [sys.executable, "-m", "lockgate"]
