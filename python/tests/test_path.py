"""Paths: packets in, packets out, in the time that the caller passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import lockgate as lg

TEXT = """
title = "beside a call"
duration = "2s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "8mbit", delay = "10ms" }
flow.call = { from = "a", to = "b", size = "200B", gap = "20ms" }
[[expect]]
that = "flow.call.owd.p99"
below = "12ms"
"""


def test_a_packet_takes_the_time_of_the_line_and_keeps_its_code_points() -> None:
    path = lg.Path.between("a", "b", rate="8mbit", delay="10ms", queue="fifo")
    assert path.send(0, 0, b"hello", ecn=lg.Path.ECT_1, dscp=46) and path.send("1ms", 1, 958)
    assert path.in_flight == 2 and path.next() is not None
    first, second = path.receive(), path.receive()
    assert first == lg.Delivery(1, b"hello", 1, 46, 0.010047, 0.0, 0.0, 47, 0) and not first.is_marked
    assert second is not None and (second.end, second.data, second.length) == (0, b"", 1000)
    assert second.time == pytest.approx(0.012, abs=1e-12)
    # The time that it returned is never past.
    assert path.send(path.time, 0, b"x") and path.receive("1s") is not None
    assert path.receive(until=1) is None and path.time == 1.0


def test_other_traffic_goes_on_and_the_expectations_are_judged(tmp_path: Path) -> None:
    path = lg.Path(TEXT, between=("a", "b"), packets=True)
    for number in range(100):
        path.send(number * 0.01, 0, bytes(1000))
    path.set(1, "link.line.rate", "4mbit")
    run = path.finish(run=True)
    # The call sends from 20 ms on, every 20 ms.
    assert run.holds and run.flows["a-b"].received_packets == 100 and run.flows["call"].received_packets == 99
    assert run[0] is run and len(run) == 1
    run.save(tmp_path / "results")
    assert (tmp_path / "results" / "report.html").stat().st_size > 1000
    run.write_pcapng(tmp_path / "queue.pcapng")
    assert (tmp_path / "queue.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    run.write_qlog(tmp_path / "queue.qlog")
    records = (tmp_path / "queue.qlog").read_text().split("\x1e")[1:]
    names = [json.loads(record).get("name") for record in records]
    assert names.count("queue:packet_enqueued") == 199 == names.count("queue:packet_dequeued")
    assert len(run.packets()["flow"]) == 199


def test_a_flow_of_a_scenario_is_taken_over() -> None:
    scenario = lg.parse(TEXT)
    path = lg.Path(scenario.set("link.line.rate", "1mbit"), flow="call")
    path.send(0, 0, 958)
    arrived = path.receive()
    assert arrived is not None and arrived.time == pytest.approx(0.018)
    run = path.finish()
    assert run.flows["call"].sent_packets == 1 and "stopped early" in repr(run)
    with pytest.raises(lg.RunError, match="packets=True"):
        run.packets()
    with pytest.raises(lg.RunError, match="program"):
        _ = run.scenario
    with pytest.raises(lg.RunError, match="finished"):
        path.receive()


def test_wrong_calls_say_what_is_wrong() -> None:
    with pytest.raises(lg.ScenarioError, match="did you mean `fq_codel`"):
        lg.Path.between("a", "b", queue="fq_codle")
    with pytest.raises(lg.ScenarioError, match="`c`"):
        lg.Path(TEXT, between=("a", "c"))
    with pytest.raises(lg.ScenarioError, match="no ends"):
        lg.Path(TEXT)
    path = lg.Path.between("a", "b")
    path.receive(until=1)
    calls: tuple[Callable[[], object], ...] = (
        lambda: path.send(0.5, 0, b""),
        lambda: path.send(1, 2, b""),
        lambda: path.send(1, 0, 1 << 20),
        lambda: path.send(1, 0, b"", ecn=4),
        lambda: path.send_ip(1, 0, b"\x00"),
    )
    for wrong in calls:
        with pytest.raises(lg.ArgumentError):
            wrong()
    with pytest.raises(lg.ScenarioError, match="did you mean `path`"):
        path.set(1, "link.pat.rate", "1mbit")
