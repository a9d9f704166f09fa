"""Law: threads and signal handlers may use everything at any time. Nothing waits for ever, and Ctrl-C ends anything.

Each case is a process of its own that ends itself if it hangs.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

#: Seconds after which a process prints where its threads are, and ends. No case takes one, on an idle machine.
PATIENCE = 120

HEAD = f"""
import faulthandler, json, signal, sys, threading, time
faulthandler.dump_traceback_later({PATIENCE}, exit=True)
import lockgate as lg

def line(duration="2s"):
    gap = {{"distribution": "exponential", "mean": "1ms"}}
    return lg.Scenario("a line", duration=duration, node={{"a": {{}}, "b": {{}}}},
        link={{"line": {{"between": ["a", "b"], "rate": "10mbit"}}}},
        flow={{"f": {{"from": "a", "to": "b", "transport": "udp", "size": "500B", "gap": gap}}}})

class Stop(Exception):
    pass

LONG = "100000s"
# Every method of a simulation, and what may come of it beside a step.
METHODS = {{
    "time": lambda sim: sim.time,
    "has_ended": lambda sim: sim.has_ended,
    "observe": lambda sim: sim.observe(),
    "set": lambda sim: sim.set("link.line.rate", "9mbit"),
    "set wrongly": lambda sim: sim.set("link.lime.rate", "9mbit"),
    "step": lambda sim: sim.step(by="1ms"),
    "step to the past": lambda sim: sim.step(until=0),
    "scenario": lambda sim: sim.scenario.to_toml(),
    "repr": lambda sim: repr(sim),
    "finish": lambda sim: sim.finish().packets(),
}}
calls = 0

def call(method, sim):
    global calls
    calls += 1
    try:
        METHODS[method](sim)
    except lg.Error:
        pass

def on_signal(handler, after=0.2):
    signal.signal(signal.SIGALRM, lambda *of: handler())
    signal.setitimer(signal.ITIMER_REAL, after)

works = False

def stop():
    # Only within the work: an alarm that comes after its end stops nothing.
    if works:
        raise Stop

def until_stopped(work):
    global works
    try:
        try:
            works = True
            work()
        except lg.RunError:
            pass
        finally:
            works = False
    except Stop:
        pass
"""

#: Every method is called where another call is long: of the same thread by a signal handler, or of another thread.
CASES = {
    "from a handler within the step": """
for method in METHODS:
    sim = line(LONG).simulation()
    def handler():
        for _ in range(3):
            call(method, sim)
        on_signal(stop, 0.05)
    on_signal(handler)
    until_stopped(sim.step)
""",
    "from a handler while a thread steps": """
for method in METHODS:
    sim = line(LONG).simulation()
    thread = threading.Thread(target=until_stopped, args=(sim.step,))
    thread.start()
    on_signal(lambda: [call(method, sim) for _ in range(3)])
    time.sleep(0.4)
    until_stopped(sim.finish)
    thread.join()
""",
    "from this thread while another steps": """
for method in METHODS:
    sim = line(LONG).simulation()
    threads = [threading.Thread(target=until_stopped, args=(sim.step,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    for _ in range(3):
        call(method, sim)
    until_stopped(sim.finish)
    for thread in threads:
        thread.join()
""",
    "from another thread while this one steps": """
for method in METHODS:
    sim = line(LONG).simulation()
    def others():
        time.sleep(0.1)
        for _ in range(3):
            call(method, sim)
        until_stopped(sim.finish)
    threads = [threading.Thread(target=others) for _ in range(2)]
    for thread in threads:
        thread.start()
    until_stopped(sim.step)
    for thread in threads:
        thread.join()
""",
    "of a plan from a handler while it runs": """
plan = lg.sweep(line(), {"link.line.delay": "1ms..400ms step 1ms"}, seeds=range(1, 101))
looks = [lambda: plan.status, lambda: plan.missing, lambda: plan.failed, lambda: len(plan.table()), lambda: repr(plan)]
looks += [lambda: plan.compare(), lambda: line().run(), lambda: line().simulation().step(by=1)]
def handler():
    global calls
    for look in looks:
        look()
        calls += 1
    on_signal(stop, 0.05)
on_signal(handler)
until_stopped(lambda: plan.run(progress=lambda ended, all: plan.status))
assert plan.status.missing > 0, plan.status
""",
}


def run(script: str) -> str:
    """Runs a script to its end, and returns what it printed."""
    # Python's end takes its handlers away, and an alarm would end the process then.
    script = f"{HEAD}{script}\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("case", CASES)
def test_nothing_waits_for_ever(case: str) -> None:
    calls = int(run(CASES[case] + "\nprint(calls)"))
    assert calls >= (8 if "plan" in case else 30), calls


#: Long work. An interrupt of each ends it, and leaves the process as it was.
LONG_WORK = {
    "run": "lambda: line(LONG).run(seeds=range(8))",
    "packets of a run": "lambda: longer.packets()",
    "step": "lambda: line(LONG).simulation().step()",
    "planning": "lambda: lg.sweep(line(), {'link.line.delay': '1us..9999us step 1us'}, seeds=range(1, 9))",
    "plan": "lambda: lg.sweep(line(LONG), {'link.line.delay': ['1ms', '2ms']}, seeds=range(1, 9)).run()",
    "compare": "lambda: lg.compare(line(LONG), {'link.line.delay': ['1ms', '2ms']}, seeds=range(1, 9))",
    "tune": "lambda: lg.tune(line(LONG), {'link.line.delay': '1ms..9ms'}, goals='min flow.f.owd.p99', runs=99)",
    "test": "lambda: lg.test(line(LONG), seeds=range(1, 9))",
}


@pytest.mark.parametrize("work", LONG_WORK)
def test_ctrl_c_ends_anything(work: str) -> None:
    script = f"""
longer = line("3000s").run() if {work!r} == "packets of a run" else None
work = {LONG_WORK[work]}
import os
signal.signal(signal.SIGALRM, lambda *of: os.kill(os.getpid(), signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, 0.3)
began = time.monotonic()
try:
    work()
except KeyboardInterrupt:
    print(json.dumps(time.monotonic() - began))
assert line().run(seed=1).summary == line().run(seed=1).summary
"""
    # The time is printed for people: it is that of a machine, and no machine is idle for long.
    assert json.loads(run(script)) < PATIENCE


def test_a_change_of_another_thread_is_part_of_the_run() -> None:
    """What a thread changes beside a long step is in the scenario of the run, which gives the same run again."""
    run(
        """
sim = line("200s").simulation(7)
def change():
    for rate in ("2mbit", "20mbit", "3mbit"):
        time.sleep(0.02)
        try:
            sim.set("link.line.rate", rate)
        except lg.Error:
            return
thread = threading.Thread(target=change)
thread.start()
sim.step()
thread.join()
run = sim.finish()
assert run.scenario.run(7).summary == run.summary
assert run.flows["f"].sent_packets == len(run.packets())
"""
    )
