#!/usr/bin/env python3
"""Writes the tables of docs/measurements/attacks.md: what attacks find, and what is proven.

    tests/jaws.py target/release/lockgate [RUNS]

Runs each attack with so many runs (120), and as many at random. The scenarios are those of crates/cli/tests/attacks
and the shipped ones that send UDP alone; `ENVELOPES` states what their flows may send if their files do not.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = [
    ("strict-priority", []),
    ("sfq-bucket", ["--flows", "1"]),
    ("codel-interval", []),
    ("htb-quantum", []),
    ("low-rate-tcp", []),
    ("fifo-ring", []),
]
ENVELOPES = {
    "batches": ['flow.pairs.envelope={ rate = "7900kbit", burst = "43kB" }'],
    "campus-classes": [
        'flow.arts.envelope={ rate = "14mbit", burst = "40kB" }',
        'flow.guests.envelope={ rate = "14mbit", burst = "44kB" }',
    ],
    "voice-beside-bulk": ["port.home:server.root=priority"],
    "twin/cbq": [
        'flow.held.envelope={ rate = "3200kbit", burst = "15kB" }',
        'flow.free.envelope={ rate = "10mbit", burst = "60kB" }',
    ],
    "twin/drr": [
        'flow.double.envelope={ rate = "8mbit", burst = "30kB" }',
        'flow.single.envelope={ rate = "7mbit", burst = "30kB" }',
    ],
    "twin/prio": ['flow.control.envelope={ rate = "1300kbit", burst = "8kB" }'],
    "twin/tbf": ['flow.bulk.envelope={ rate = "5mbit", burst = "40kB" }'],
    "twin/wf2q": [
        'flow.five.envelope={ rate = "4500kbit", burst = "15kB" }',
        'flow.three.envelope={ rate = "6500kbit", burst = "30kB" }',
        'flow.two.envelope={ rate = "4500kbit", burst = "20kB" }',
    ],
}
SHIPPED = [
    ("voice-beside-bulk", "flow.voice.owd.max"),
    ("classes-of-service", "flow.control.owd.max"),
    ("batches", "flow.pairs.owd.max"),
    ("campus-classes", "flow.lecture.owd.max"),
    ("campus-classes", "flow.guests.owd.max"),
    ("cellular", "flow.game.owd.max"),
    ("token-bucket", "flow.stream.owd.max"),
    ("weights-by-hand", "flow.class1.owd.max"),
    ("twin/cbq", "flow.held.owd.max"),
    ("twin/drr", "flow.thin.owd.max"),
    ("twin/prio", "flow.control.owd.max"),
    ("twin/tbf", "flow.stream.owd.max"),
    ("twin/wf2q", "flow.five.owd.max"),
]


def attack(lockgate, file, arguments, runs):
    """Returns the lines of an attack by their beginnings."""
    order = [lockgate, "attack", str(file), "--budget", str(runs), "--random", *arguments]
    run = subprocess.run(order, capture_output=True, text=True, cwd=ROOT, env={"NO_COLOR": "1", "COLUMNS": "999"})
    if run.returncode != 0:
        return {"worst found": "-", "error": run.stderr.strip().splitlines()[0]}
    lines = (line.split(": ", 1) for line in run.stdout.splitlines() if ": " in line)
    return dict(lines)


def factor(own, worst, random):
    """Returns how many times as bad as a random search a search is; below 1 if the random one found more."""
    units = {"s": 1, "ms": 1e-3, "us": 1e-6, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "%": 1, "ratio": 1}

    def value(text):
        found = re.match(r"([\d.]+) (\S+)", text)
        return float(found[1]) * units[found[2]] if found and found[2] in units else None

    before, one, other = value(own), value(worst), value(random)
    if one is None or other is None:
        return "-"
    if one == 0:
        return "all"
    is_more = before is None or one >= before
    return f"{one / other if is_more else other / one:.2f}"


def main():
    lockgate, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120
    print("| scenario | metric | own traffic | worst found | at random | factor | proven |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    cases = [(f"crates/cli/tests/attacks/{name}.toml", more) for name, more in NAMED]
    for name, that in SHIPPED:
        settings = [part for one in ENVELOPES.get(name, []) for part in ("--set", one)]
        cases.append((f"scenarios/{name}.toml", ["--that", that, *settings]))
    for file, arguments in cases:
        found = attack(lockgate, file, arguments, runs)
        that = next((key for key in found if key.startswith("flow.")), "")
        own, random = found.get("the scenario's own traffic", "-"), found.get("random search with as many runs", "-")
        worst = found["worst found"]
        whole = next((f"{key}: {value}" for key, value in found.items() if key.startswith("[worst")), "")
        bound = re.search(r"= \[.*, (.*)\]", whole)
        proven = bound[1] if bound else found.get("no bound", found.get("error", "")) or "-"
        name = file.removeprefix("scenarios/").removeprefix("crates/cli/tests/attacks/").removesuffix(".toml")
        print(f"| `{name}` | `{that}` | {own} | {worst} | {random} | {factor(own, worst, random)} | {proven} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
