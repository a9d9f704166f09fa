"""Law: whatever a result offers is of one and the same run, however that run was made, changed, ended, sent or kept."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg

#: Everything that a run offers. A new name is added here with what it is held against.
OFFERED = {
    *("events", "expect", "flows", "groups", "holds", "interval", "metric", "packets", "ports", "save", "scenario"),
    *("seeds", "series", "summary", "table", "values", "verdict", "write_pcapng", "write_qlog"),
}


def shaped() -> lg.Scenario:
    """Two random flows and a download through a port with two trees, of which one replaces the other."""
    random = {"distribution": "exponential", "mean": "4ms"}
    return lg.Scenario(
        "a shaped line",
        duration=lg.s(2),
        node={"a": {}, "b": {}},
        link={"line": {"between": ["a", "b"], "rate": lg.mbit(2), "delay": lg.ms(5)}},
        port={"a:b": {"root": "plain", "queue": {"plain": {"kind": "fifo", "limit": "9p"}, "fair": {"kind": "fq_codel"}}}},
        flow={
            "one": {"from": "a", "to": "b", "transport": "udp", "size": "500B", "gap": random},
            "two": {"from": "a", "to": "b", "transport": "udp", "size": "300B", "gap": random},
            "load": {"from": "a", "to": "b", "transport": "tcp", "bytes": "unlimited"},
        },
        expect=[{"that": "flow.one.owd.p99", "below": "1s"}],
    )


def stepped(until: Sequence[float], changes: Sequence[dict[str, str]], finish_at: float | None = None) -> lg.Run:
    """Returns a run that was changed at these times, and finished at the end or before."""
    sim = shaped().simulation(3)
    for at, change in zip(until, changes, strict=True):
        sim.step(until=at)
        sim.observe()
        sim.set(change)
    sim.step(until=finish_at)
    return sim.finish()


def in_small_steps() -> lg.Run:
    sim = shaped().simulation(3)
    while sim.step(by="7ms"):
        pass
    return sim.finish()


SLOWER, FAIR = {"link.line.rate": "300kbit"}, {"port.a:b.root": "fair"}
RUNS: dict[str, Callable[[], lg.Run]] = {
    "plain": lambda: shaped().run(3),
    "plain with packets": lambda: shaped().run(3, packets=True),
    "with warm-up": lambda: shaped().set("warmup", "0.5s").run(3),
    "repeated": lambda: shaped().run(seeds=[3, 1, 7]),
    "one of the repeated": lambda: shaped().run(seeds=[3, 1, 7])[1],
    "the last of the repeated": lambda: shaped().run(seeds=[3, 1, 7], packets=True)[-1],
    "a variant": lambda: shaped().set({**SLOWER, **FAIR}).run(4),
    "on one thread": lambda: shaped().run(seeds=[5, 6], threads=1),
    "of a copy": lambda: copy.deepcopy(shaped()).run(3),
    "of a pickle": lambda: pickle.loads(pickle.dumps(shaped().set(SLOWER))).run(3),
    "in small steps": in_small_steps,
    "changed": lambda: stepped([0.5], [SLOWER]),
    "changed before it began": lambda: stepped([0.0], [SLOWER]),
    "changed twice at once": lambda: stepped([0.5, 0.5], [SLOWER, {"link.line.rate": "1mbit"}]),
    "replaced": lambda: stepped([0.7], [FAIR]),
    "changed at a sampling": lambda: stepped([1.0, 1.5], [{**SLOWER, **FAIR}, {"link.line.delay": "9ms"}]),
    "stopped": lambda: stepped([], [], 0.7),
    "stopped at once": lambda: stepped([], [], 0.0),
    "changed and stopped": lambda: stepped([0.5, 0.61], [SLOWER, FAIR], 1.0),
    "changed at the stop": lambda: stepped([0.5], [SLOWER], 0.5),
}


@pytest.mark.parametrize("how", RUNS)
def test_whatever_a_result_offers_is_of_one_run(how: str, tmp_path: Path) -> None:
    run = RUNS[how]()
    assert {name for name in dir(run) if not name.startswith("_")} == OFFERED
    assert len(run) == len(run.seeds)
    singles = [run[index] for index in range(len(run))]
    for index, single in enumerate(singles):
        assert single.seeds == [run.seeds[index]]
        of_one_run(single)
        assert single.packets().to_dict() == run.packets(index).to_dict()
        assert single.series("flow.one").to_dict() == run.series("flow.one", index).to_dict()
        assert single.events().to_dict() == run.events(index).to_dict()
    of_several_runs(run, singles)
    of_files(run, tmp_path / "out")
    again = made_again(run)
    assert again.summary == run.summary and again.packets().to_dict() == run.packets().to_dict()
    assert again.events().to_dict() == run.events().to_dict()


def made_again(run: lg.Run) -> lg.Run:
    """Makes a run once more from its own scenario, seeds and end."""
    end = ended(run)
    if end == run.scenario.duration:
        return run.scenario.run(seeds=run.seeds)
    sim = run.scenario.simulation(run.seeds[0])
    sim.step(until=end)
    return sim.finish()


def ended(run: lg.Run) -> float:
    return float(run.summary["duration_s"])


def of_one_run(run: lg.Run) -> None:
    """Holds figures, series, packets and pages of a run against each other."""
    packets = run.packets().to_dict()
    rows = list(zip(*packets.values(), strict=True))
    end = ended(run)
    assert set(run.flows) == set(run.summary["flows"]) and set(run.ports) == set(run.summary["ports"])
    assert all(arrived <= end * 1e12 for arrived in packets["arrived_ps"])
    for name, flow in run.flows.items():
        of_flow(run, name, flow, [row for row in rows if row[0] == name])
    for name, port in run.ports.items():
        queues = {row[3] for row in rows if row[2] == name and row[3] is not None}
        assert queues <= set(port.queues), "queues of packets are those of the run"
    page = run._repr_html_()
    goodput = run.flows["one"].goodput
    assert run.verdict in page and (goodput is None or lg._lockgate.quantity("flow.f.goodput", goodput) in page)
    assert run.holds == all(one.holds for one in run.expect) and ("✓" in run.verdict) == run.holds
    assert run.verdict.startswith("stopped early") == (end < run.scenario.duration)


def of_flow(run: lg.Run, name: str, flow: lg.FlowResults, rows: list[tuple[Any, ...]]) -> None:
    """Holds the figures of a flow against its packets, its series, and copies of themselves."""
    warmup, end = run.scenario.warmup * 1e12, ended(run)
    # All packets arrive at the first port as they are sent: the links have one hop.
    sent = [row for row in rows if row[5] >= warmup]
    assert flow.sent_packets == len(sent), name
    assert flow.lost_packets == sum(row[7] is not None for row in sent), name
    # One link delivers them in the order in which they leave its port; those that left last may be on it at the end.
    left = sorted((row for row in sent if row[6] is not None), key=lambda row: int(row[6]))
    received = left[: flow.received_packets]
    assert len(received) == flow.received_packets and len(left) - len(received) < 20, name
    assert flow.document["inside_packets"] == len(sent) - flow.received_packets - flow.lost_packets, name
    waits = sorted((row[6] - row[5]) * 1e-12 for row in received)
    if waits:
        assert flow.queueing.p99 == pytest.approx(waits[math.ceil(0.99 * len(waits)) - 1], rel=2**-9, abs=1e-9), name
        assert flow.queueing.max == pytest.approx(waits[-1], abs=1e-11), name
    series = run.series(f"flow.{name}").to_dict()
    if series["time_s"]:
        assert series["time_s"][-1] == pytest.approx(end, abs=1e-11)
        widths = [b - a for a, b in zip([0.0, *series["time_s"]], series["time_s"])]
        bits = sum((rate or 0.0) * width for rate, width in zip(series["received_bps"], widths))
        if warmup == 0:
            assert bits == pytest.approx(8 * flow.document["received_bytes"], abs=0.5), name
    for metric, value in flow.metrics.items():
        address = f"flow.{name}.{metric}" + (".p99" if isinstance(value, lg.Distribution) else "")
        number = value.p99 if isinstance(value, lg.Distribution) else value
        assert run.values(address) == [number] and run.summary["metrics"].get(address) == number, address
        if number is not None:
            assert run.metric(address) == run.interval(address).mean == number, address
            assert run.table(address)[address] == [number], address
    for same in (pickle.loads(pickle.dumps(flow)), copy.copy(flow), copy.deepcopy(flow)):
        assert same == flow and same.metrics == flow.metrics
        assert all(getattr(same, metric.replace(".", "_")) == value for metric, value in flow.metrics.items())


def of_several_runs(run: lg.Run, singles: list[lg.Run]) -> None:
    """Holds the values of several runs against those of each alone."""
    assert run.flows == singles[0].flows and run.ports == singles[0].ports
    table = run.table()
    assert table["seed"] == run.seeds and table.columns[1:] == list(run.summary["metrics"])
    for address in table.columns[1:]:
        assert table[address] == run.values(address) == [single.values(address)[0] for single in singles], address
    address = "flow.one.owd.p99"
    if run.flows["one"].owd.count:
        values = run.interval(address).values
        assert list(values) == run.values(address) == list(run.expect[0].values)
    for port in map(run.ports.__getitem__, run.ports):
        same = pickle.loads(pickle.dumps(port))
        assert same.metrics == port.metrics and len(repr(port)) < 300
        assert all(same.queues[name].metrics == port.queues[name].metrics for name in port.queues)


def of_files(run: lg.Run, directory: Path) -> None:
    """Holds the saved files against the run, and runs the saved scenario again."""
    run.save(directory)
    manifest, toml = json.loads((directory / "manifest.json").read_text()), (directory / "scenario.toml").read_text()
    assert json.loads((directory / "summary.json").read_text()) == run.summary
    assert manifest["seeds"] == run.seeds and toml == run.scenario.to_toml()
    is_stopped = ended(run) < run.scenario.duration
    assert manifest["interrupted"] is is_stopped
    saved = lg.read(directory / "scenario.toml")
    if not is_stopped:
        assert without_lines(saved.run(seeds=run.seeds).summary) == without_lines(run.summary)
        if manifest["command"]:
            seed, repeat = re.findall(r"--seed (\d+)(?: --repeat (\d+))?", manifest["command"])[0]
            assert run.seeds == list(range(int(seed), int(seed) + int(repeat or 1)))
    else:
        assert manifest["command"] == ""
    of_logs(run, directory.parent)
    if (directory / "packets.parquet").exists():
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(directory / "packets.parquet").to_pydict() == run.packets().to_dict()


def of_logs(run: lg.Run, folder: Path) -> None:
    """Holds capture and log of the queues against the packets."""
    packets = run.packets().to_dict()
    run.write_pcapng(folder / "ports.pcapng")
    assert (folder / "ports.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    run.write_qlog(folder / "ports.qlog")
    records = [json.loads(record) for record in (folder / "ports.qlog").read_text().split("\x1e")[1:]]
    names = [record.get("name") for record in records]
    assert names.count("queue:packet_dequeued") == sum(time is not None for time in packets["departed_ps"])
    assert names.count("queue:packet_dropped") == sum(lost is not None for lost in packets["lost"])


def without_lines(summary: dict[str, Any]) -> dict[str, Any]:
    """Returns a summary without the lines of the file in which expectations are: settings move these."""
    return {**summary, "expect": [{**one, "line": None} for one in summary["expect"]]}


def test_changes_are_in_the_scenario_of_the_run() -> None:
    run = stepped([0.5, 0.61], [SLOWER, FAIR])
    assert '[[change]]\nat = "500000000.001ns"\nset = { "link.line.rate" = "300kbit" }' in run.scenario.to_toml()
    assert run.scenario != shaped() and stepped([], []).scenario == shaped()
    packets = run.packets()
    assert {queue for port, queue in zip(packets["port"], packets["queue"]) if port == "a:b"} == {"plain", "fair"}


def test_episodes_end_in_the_run_that_was_made(line: lg.Scenario) -> None:
    pytest.importorskip("gymnasium")
    from lockgate import gym

    env = gym.QueueEnv(line, [gym.Knob("link.line.rate", 2e5, 2e6)], ["flow.one.owd_p99_s"], lambda seen: 0.0)
    env.reset(seed=4)
    info: dict[str, Any] = {}
    while "run" not in info:
        info = env.step(env.action_space.sample())[-1]
    run = info["run"]
    assert run.scenario.to_toml().count("[[change]]") == 10
    assert run.summary == run.scenario.run(4).summary and run.flows["one"].sent_packets == len(run.packets())


def test_a_comparison_is_of_the_runs_that_were_finished_then(line: lg.Scenario) -> None:
    """Its table, its rows and its page do not change when more runs are finished."""
    plan = lg.sweep(line, {"link.line.rate": ["1mbit", "2mbit"]}, seeds=range(1, 5))
    plan._inner.run(plan.missing[:3])
    then = plan.compare()
    shown = (str(then), then._repr_html_(), then.table().to_dict())
    plan.run()
    assert shown == (str(then), then._repr_html_(), then.table().to_dict()) and "5 runs are missing" in shown[1]
    now = plan.compare()
    address = plan.metrics[0]
    for index, interval in enumerate(now.metrics[0].intervals):
        assert interval is not None and list(interval.values) == now.table()[address][4 * index : 4 * index + 4]
        assert interval.mean == pytest.approx(sum(now.table()[address][4 * index : 4 * index + 4]) / 4)


TRACE = """\
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], trace = "trace.txt" }
flow.f = { from = "a", to = "b", transport = "udp", size = "500B", gap = "10ms" }
"""


def test_whatever_is_made_of_a_scenario_has_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read once: another one in its place, or none, changes nothing of what is there."""
    for place, trace in (("here", "1\n2\n3\n"), ("there", "1\n500\n")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "traced.toml").write_text(TRACE)
        (tmp_path / place / "trace.txt").write_text(trace)
    monkeypatch.chdir(tmp_path / "here")
    here = lg.read("traced.toml")
    sent, summary = pickle.dumps(here), here.run().summary
    monkeypatch.chdir(tmp_path / "there")
    there, copied = lg.read("traced.toml"), pickle.loads(sent)
    assert there.run().summary != summary, "the files differ"
    assert copied == here and hash(copied) == hash(here) and here != there and copied != there
    (tmp_path / "there" / "trace.txt").unlink()
    for scenario in (copied, here.set("title", "t"), copied.set("title", "t"), pickle.loads(pickle.dumps(copied))):
        assert scenario.run().summary["flows"] == summary["flows"]
        swept = lg.sweep(scenario, {"flow.f.size": ["500B", "600B"]}, seeds=[1], metrics="flow.f.received_packets")
        assert swept.run().table()["flow.f.received_packets"][0] == summary["flows"]["f"]["received_packets"]
    with pytest.raises(lg.ScenarioError, match=r"trace\.txt"):
        lg.read("traced.toml")
