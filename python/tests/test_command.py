"""The command in the wheel: results, exit codes, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import lockgate as lg


def run(command: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *arguments], capture_output=True, text=True)


def test_the_command_is_inside(line_file: Path, command: list[str]) -> None:
    assert run(command, "-V").stdout == f"lockgate {lg.__version__}\n"
    assert run(command, "run", "line.toml", "--quiet").returncode == 0
    assert run(command, "run", "line.toml", "--set", "expect.0.below=1us", "--quiet").returncode == 3
    wrong = run(command, "check", "absent.toml")
    assert wrong.returncode == 2 and "there is no such file" in wrong.stderr


def test_the_demo_runs(line_file: Path, command: list[str]) -> None:
    demo = run(command, "demo", "--sim", "--out", "demo")
    assert demo.returncode == 0 and "FQ-CoDel" in demo.stdout, demo.stderr
    assert Path("demo/report.html").stat().st_size > 1000


def test_ctrl_c_stops_early_and_keeps_the_results(line_file: Path, command: list[str]) -> None:
    long = ["run", "line.toml", "--set", "duration=100000s", "--set", "flow.one.gap.mean=1ms", "--out", "out"]
    process = subprocess.Popen([*command, *long], stderr=subprocess.PIPE, text=True)
    while not list(Path().glob(".out*")) + list(Path().glob("out*")):
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert Path("out/summary.json").exists()


def test_ctrl_c_ends_a_run_in_python(line_file: Path, command: list[str]) -> None:
    # What a shell starts in the background ignores SIGINT, and so do the programs that it starts.
    script = (
        "import signal, lockgate as lg\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "long = lg.read('line.toml').set({'duration': '1000000s', 'flow.one.gap.mean': '1ms'})\n"
        "print('begins', flush=True)\n"
        "long.%s\n"
    )
    for call in ("run()", "simulation().step()"):
        process = subprocess.Popen(
            [command[0], "-c", script % call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stdout.readline() == "begins\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0 and "KeyboardInterrupt" in errors, errors
