"""Simulations in steps: the same outcome as in one, observed and changed in between."""

from __future__ import annotations

import statistics
import time
from contextlib import nullcontext

import pytest

import lockgate as lg


def test_steps_give_the_outcome_of_one_run(line: lg.Scenario) -> None:
    sim = line.simulation(seed=5)
    while sim.step(by="7ms"):
        sim.observe()
    assert sim.has_ended and sim.finish().summary == line.run(seed=5).summary


def test_a_change_acts_from_its_instant_on(line: lg.Scenario) -> None:
    sim = line.set("link.line.rate", "500kbit").simulation()
    sim.step(until=0.5)
    before = sim.observe()
    waiting = before["port.a:b.packets"]
    assert before.time == 0.5 and waiting is not None and waiting > 20
    assert before["port.a:b.sent_bps"] == pytest.approx(5e5, rel=0.05)
    sim.set("link.line.rate", lg.mbit(5))
    sim.step(until=lg.ms(900))
    after = sim.observe()
    assert after.interval == pytest.approx(0.4) and after["port.a:b.packets"] in (0, 1)
    assert after["port.a->b.packets"] == after["port.a:b.packets"]
    with pytest.raises(lg.ScenarioError, match="did you mean `line`"):
        sim.set("link.lime.rate", "1mbit")
    for address in ("flow.two.rtt_s", "flow.one.speed", "port.a:b.queue.x.packets", "flow..x"):
        with pytest.raises(lg.MetricError):
            after[address]
    run = sim.finish()
    assert not sim.scenario.run().summary["flows"]["one"] == run.summary["flows"]["one"]
    with pytest.raises(lg.RunError, match="finished"):
        sim.step()


def test_times_are_seconds_or_texts(line: lg.Scenario) -> None:
    sim = line.simulation()
    sim.step(until=0.25)
    sim.step(by=lg.us(500))
    assert sim.time == pytest.approx(0.2505, abs=1e-12)
    with pytest.raises(ValueError, match="a duration"):
        sim.step(by="10m")
    with pytest.raises(ValueError, match="not a time in seconds"):
        sim.step(until=-1.0)
    for past in (0.25, "250500us", 0):
        with pytest.raises(lg.ArgumentError, match="already") if past != "250500us" else nullcontext():
            sim.step(until=past)
    with pytest.raises(lg.ArgumentError, match="name one of them"):
        sim.step(until=0.5, by=0.1)
    assert sim.step(until=sim.time) and sim.time == pytest.approx(0.2505, abs=1e-12)
    assert sim.step() is False and sim.time == 1.0


def test_a_step_costs_little_beside_its_events() -> None:
    """10 ms in which nothing happens: the cost is that of the call. The aim is 20 us; a noisy machine has ten times."""
    idle = lg.Scenario(
        "idle",
        duration=lg.s(100),
        node={"a": {}, "b": {}},
        link={"line": {"between": ["a", "b"], "rate": "1mbit"}},
        flow={"f": {"from": "a", "to": "b", "size": "500B", "gap": "50s"}},
    )
    sim = idle.simulation()
    costs = []
    for _ in range(2000):
        start = time.perf_counter()
        sim.step(by="10ms")
        costs.append(time.perf_counter() - start)
    assert statistics.median(costs) < 200e-6
