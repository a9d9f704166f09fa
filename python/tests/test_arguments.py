"""Law: an argument of a wrong kind or value is an error of Lockgate in its words, whatever function and argument:
never a panic, another exception, or a call that does not end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

#: Every public function and method with arguments that are right, of which one at a time is replaced. Calls that only
#: take memory or time as they are asked to, such as `runs` of a billion, are not wrong, and are left out by `FINE`.
SCRIPT = '''
import faulthandler, itertools, json, math, os, sys
import resource
faulthandler.dump_traceback_later(300, exit=True)
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
from decimal import Decimal
from fractions import Fraction
import numpy as np
import lockgate as lg
from lockgate import gym

gap = {"distribution": "exponential", "mean": "5ms"}
LINE = dict(duration="100ms", node={"a": {}, "b": {}}, link={"line": {"between": ["a", "b"], "rate": "1mbit"}},
    flow={"f": {"from": "a", "to": "b", "transport": "udp", "size": "500B", "gap": gap}},
    expect=[{"that": "flow.f.owd.p99", "below": "1s"}])
line = lg.Scenario("a line", **LINE)
line.save("line.toml")
vary = {"link.line.rate": ["1mbit", "2mbit"]}
one = dict(seeds=[1], metrics="flow.f.owd.p99")
run, several = line.run(packets=True), line.run(seeds=[1, 2])
plan = lg.sweep(line, vary, into="store", **one).run()
comparison, tests = plan.compare(), lg.test(line)
tests.save_baseline("base.json")
tuned = lg.tune(line, {"link.line.rate": "1mbit..2mbit"}, goals="min flow.f.owd.p99", runs=5, seeds=[1], validate=[2])
observation = line.simulation().observe()
knob = gym.Knob("link.line.rate", 1e5, 1e6)
environment = gym.QueueEnv(line, [knob], ["flow.f.owd_p99_s"], lambda seen: 0.0)
environment.reset(seed=1)

class Odd:
    def __repr__(self):
        raise ValueError("no text")

class Endless:
    def __iter__(self):
        return itertools.count()

WRONG = [None, True, False, 0, 1, -1, 3, 2**63, 2**64, -(2**70), 10**5000, 0.5, -0.5, 1e308, math.nan, math.inf, -math.inf,
    "", " ", "x", "1..", "a=b", "5ms", "-5ms", "10mbit", "\\0", "\\ud800", "é" * 300, "flow.f.owd.p99", "flow..", '"', "link.line.rate",
    b"x", [], [None], ["x"], [1, 1], [-1], [[]], ["5ms", "6ms"], (), ("a", "b"), {}, {"x": 1}, {1: 2}, {"link.line.rate": 5},
    {"link.line.rate": []}, {"link.line.rate": ["1mbit", None]}, {None: ["1"]}, set(), object(), Odd(), Endless(), itertools.count(),
    range(0), range(3), range(10**9), lambda *of: None, len, int, Decimal("1.5"), Decimal("nan"), Decimal("1e99999999"),
    Fraction(1, 3), 1j, np.float64(0.1), np.float32("nan"), np.int64(-3), np.uint64(2**64 - 1), np.bool_(True), np.array([]),
    np.array([1, 2]), np.array([1.5]), np.array("x"), np.array(["a"], dtype=object), np.datetime64("2020"), bytearray(b"x"),
    memoryview(b"x"), line, run, plan, knob, observation, Exception("x"), NotImplemented, Ellipsis]

# Values that are right for an argument of this name, but ask for much.
FINE = {"runs": lambda value: not isinstance(value, int) or value < 100, "rows": lambda value: True,
    # Its own errors are those of the caller.
    "progress": lambda value: value is not len and value is not int}

def simulation():
    return line.simulation()

def stepped_environment():
    environment.reset(seed=1)
    return environment

CALLS = {
    **{f"lg.{name}": (lambda name=name: getattr(lg, name), dict(value=1))
       for name in ("s", "ms", "us", "bit", "kbit", "mbit", "gbit", "B", "kB", "packets", "percent")},
    "lg.Scenario": (lambda: lg.Scenario, dict(title="t", port={}, change=[], vary=[], memory=10**9, warmup="0s", **LINE)),
    "lg.read": (lambda: lg.read, dict(path="line.toml", memory=10**9)),
    "lg.parse": (lambda: lg.parse, dict(text=line.to_toml(), name="n", memory=10**9)),
    "lg.open": (lambda: lg.open, dict(into="store", memory=10**9)),
    "lg.sweep": (lambda: lg.sweep, dict(scenario=line, vary=vary, vary_together=None, into=None, **one)),
    "lg.compare": (lambda: lg.compare, dict(scenario=line, vary=vary, vary_together=None, base=0, executor=None, threads=1, **one)),
    "lg.tune": (lambda: lg.tune, dict(scenario=line, vary={"link.line.rate": "1mbit..2mbit"}, goals="min flow.f.owd.p99",
        subject_to=(), runs=5, seeds=[1], validate=[2], patience=None, seed=1, threads=1, progress=False)),
    "lg.test": (lambda: lg.test, dict(scenarios=line, seeds=[1], baseline="base.json", fail_on_regression="5%", threads=1, progress=False)),
    "Scenario.set": (lambda: line.set, dict(path="link.line.rate", value="2mbit")),
    "Scenario.save": (lambda: line.save, dict(path="saved.toml")),
    "Scenario.run": (lambda: line.run, dict(seed=1, seeds=None, threads=1, packets=False)),
    "Scenario.simulation": (lambda: line.simulation, dict(seed=1)),
    "Run": (lambda: lg.Run, dict(scenario=line, inner=run._inner)),
    "Run[]": (lambda: several.__getitem__, dict(_0=0)),
    "Run.metric": (lambda: run.metric, dict(address="flow.f.owd.p99")),
    "Run.values": (lambda: run.values, dict(address="flow.f.owd.p99")),
    "Run.interval": (lambda: run.interval, dict(address="flow.f.owd.p99")),
    "Run.packets": (lambda: several.packets, dict(run=0)),
    "Run.table": (lambda: run.table, dict(metrics=())),
    "Run.series": (lambda: run.series, dict(address="flow.f", run=0)),
    "Run.save": (lambda: run.save, dict(directory="out")),
    "Run.flows[]": (lambda: run.flows.__getitem__, dict(_0="f")),
    "in Run.ports": (lambda: run.ports.__contains__, dict(_0="a:b")),
    "queues[]": (lambda: run.ports["a:b"].queues.__getitem__, dict(_0=next(iter(run.ports["a:b"].queues)))),
    "Simulation": (lambda: lg.Simulation, dict(scenario=line, seed=1)),
    "Simulation.step until": (lambda: simulation().step, dict(until=0.01)),
    "Simulation.step by": (lambda: simulation().step, dict(by="1ms")),
    "Simulation.step both": (lambda: simulation().step, dict(until=0.01, by="1ms")),
    "Simulation.set": (lambda: simulation().set, dict(path="link.line.rate", value="2mbit")),
    "Observation": (lambda: lg.Observation, dict(document=observation.document)),
    "Observation[]": (lambda: observation.__getitem__, dict(_0="flow.f.owd_p99_s")),
    "Plan": (lambda: lg.Plan, dict(inner=plan._inner)),
    "Plan.run": (lambda: lg.sweep(line, vary, **one).run, dict(executor=None, threads=1, batch=1, progress=False)),
    "Plan.compare": (lambda: plan.compare, dict(base=0)),
    "Comparison": (lambda: lg.Comparison, dict(plan=plan, document=comparison._document, table=plan.table())),
    "Tests": (lambda: lg.Tests, dict(document=tests._document)),
    "Tests.save_baseline": (lambda: tests.save_baseline, dict(path="saved.json")),
    "Tuned": (lambda: lg.Tuned, dict(scenario=line, document=tuned._document)),
    "Table": (lambda: lg.Table, dict(inner=run.packets()._inner)),
    "Table[]": (lambda: run.packets().__getitem__, dict(_0="flow")),
    "Table.head": (lambda: run.packets().head, dict(rows=3)),
    "gym.Knob": (lambda: gym.Knob, dict(path="link.line.rate", low=1e5, high=1e6, kind="rate", log=False)),
    "gym.Knob.value": (lambda: knob.value, dict(action=0.5)),
    "gym.QueueEnv": (lambda: gym.QueueEnv, dict(scenario=line, knobs=[knob], observe="flow.f.owd_p99_s", reward=len,
        interval="10ms", missing=0.0, scales=[1.0])),
    "gym.QueueEnv.reset": (lambda: environment.reset, dict(seed=1, options=None)),
    "gym.QueueEnv.step": (lambda: stepped_environment().step, dict(action=[0.5])),
    "gym.QueueEnv.settings": (lambda: environment.settings, dict(action=[0.5])),
}

calls = accepted = 0
faults = []
inside = ("_inner", "has no attribute", "object is not", "argument '", "unexpected keyword", "cannot be interpreted", "codec")
for name, (function, right) in CALLS.items():
    for argument in right:
        print(name, argument, file=sys.stderr, flush=True)
        for value in WRONG:
            if argument in FINE and not FINE[argument](value):
                continue
            given = {**right, argument: value}
            positional = [given.pop(key) for key in list(given) if key.startswith("_")]
            calls += 1
            try:
                function()(*positional, **given)
                accepted += 1
                continue
            except lg.Error as error:
                said = str(error)
                fault = said if not said or any(word in said for word in inside) else None
            except IndexError as error:
                fault = None if name == "Run[]" else repr(error)
            except BaseException as error:
                fault = f"{type(error).__module__}.{type(error).__name__}: {str(error)[:120]}"
            if fault is not None:
                shown = type(value).__name__ if isinstance(value, (Odd, int)) else repr(value)[:40]
                faults.append(f"{name}({argument}={shown}): {fault[:300]}")
print(json.dumps(dict(calls=calls, accepted=accepted, faults=faults)))
'''


def test_a_wrong_argument_is_an_error_in_the_words_of_lockgate(tmp_path: Path) -> None:
    answer = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr[-3000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    assert not found["faults"], "\n".join(found["faults"])
    assert found["calls"] >= 2000 and 100 < found["accepted"] < found["calls"] // 2, found
