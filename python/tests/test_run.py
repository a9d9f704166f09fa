"""Runs: values, series and packets equal the command's; errors name the nearest; display."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import lockgate as lg


def test_results_are_those_of_the_command(line_file: Path, command: list[str]) -> None:
    subprocess.run(
        [*command, "run", line_file, "--seed", "7", "--repeat", "3", "--out", "out", "--quiet"], check=True
    )
    run = lg.read(line_file).run(seeds=[7, 8, 9])
    assert run.summary == json.loads(Path("out/summary.json").read_text())
    flow = run.flows["one"]
    assert flow.owd.p99 == run.metric("flow.one.owd.p99") == run.summary["flows"]["one"]["owd_s"]["p99"]
    assert flow.sent_packets == flow.received_packets + flow.lost_packets + flow.document["inside_packets"]
    interval = run.interval("flow.one.owd.p99")
    assert interval.values == tuple(run.values("flow.one.owd.p99")) and interval.half_width is not None
    assert run.holds and run.expect[0].holds and "holds" in run.verdict


def test_effects_of_changes_are_those_of_the_command(line_file: Path, command: list[str]) -> None:
    changed = line_file.read_text() + '\n[[change]]\nat = "500ms"\nset = { "link.line.rate" = "500kbit" }\n'
    line_file.write_text(changed)
    for options, effects in ([], True), (["--no-ghost"], False):
        subprocess.run([*command, "run", line_file, *options, "--out", "out", "--quiet"], check=True)
        run = lg.read(line_file).run(effects=effects)
        assert run.summary == json.loads(Path("out/summary.json").read_text())
        assert bool(run.summary["phases"][1].get("without")) is effects


def test_saved_results_are_replaced_but_nothing_else_is(line: lg.Scenario, tmp_path: Path) -> None:
    saved = line.run().save(tmp_path / "out")
    assert json.loads((saved / "summary.json").read_text())["schema"] == 2
    line.run(seed=2).save(saved)
    assert json.loads((saved / "summary.json").read_text())["seed"] == 2
    (saved / "mine.txt").write_text("x")
    with pytest.raises(lg.RunError):
        line.run().save(saved)


def test_series_are_tables_with_units_in_the_names(line: lg.Scenario) -> None:
    run = line.run()
    backlog = run.series("port.a:b.backlog")
    assert backlog.columns == ["time_s", "backlog_packets", "backlog_bytes"]
    assert backlog["time_s"][-1] == 1.0 and max(backlog["backlog_packets"]) > 0
    assert run.series('port."a->b".backlog').to_dict() == backlog.to_dict()
    received = run.series("flow.one.received_bps")
    widths = [received["time_s"][0]] + [b - a for a, b in zip(received["time_s"], received["time_s"][1:])]
    bits = sum(rate * width for rate, width in zip(received["received_bps"], widths))
    assert bits == pytest.approx(run.flows["one"].document["received_bytes"] * 8)
    for address, message in [
        ("flow.two", "the flows are one"),
        ("port.a:b.backlock", "the columns are backlog_packets"),
        ("flow.one.tcp", "not a flow over TCP"),
        ("jain_index", "write `flow.NAME`"),
    ]:
        with pytest.raises(lg.MetricError, match=message):
            run.series(address)


def test_a_rate_that_is_stepped_is_a_series_and_its_reasons_are_events() -> None:
    file = Path(__file__).parents[2] / "scenarios" / "autorate.toml"
    run = lg.read(file).set("duration", "6s").run()
    shaped = run.series("port.gateway:modem.rate")
    assert shaped.columns == ["time_s", "rate_bps"] and len(set(shaped["rate_bps"])) > 10
    capacity = run.series("port.modem:isp.capacity")
    assert capacity.columns == ["time_s", "capacity_bps"] and min(capacity["capacity_bps"]) > 0
    events = run.events()
    assert events.columns == ["time_s", "kind", "path", "value", "text"]
    reasons = [text for text in events["text"] if text.startswith("port gateway:modem: ")]
    assert reasons and all(" -> " in reason for reason in reasons)
    with pytest.raises(lg.MetricError, match="rate_bps"):
        run.series("port.gateway:modem.speed")


def test_a_wrong_name_or_metric_names_the_nearest(line: lg.Scenario) -> None:
    run = line.run()
    with pytest.raises(lg.MetricError, match="did you mean `one`"):
        run.flows["onne"]
    with pytest.raises(lg.MetricError, match="did you mean"):
        run.metric("flow.one.owd.p98")
    with pytest.raises(KeyError):
        run.metric("flow.two.owd.p99")
    assert "a->b" in run.ports and run.ports["a->b"].rate == 1e6 and "x" not in run.ports


def test_what_cannot_be_pickled_says_what_to_send(line: lg.Scenario) -> None:
    for thing in (line.run(), line.simulation(), lg.sweep(line, {"duration": ["1s", "2s"]})):
        with pytest.raises(TypeError, match="cannot be pickled: send its"):
            pickle.dumps(thing)


def test_the_gil_is_released(line: lg.Scenario) -> None:
    longer = line.set({"duration": "1000s", "flow.one.gap.mean": "1ms"})
    thread = threading.Thread(target=lambda: longer.run(seeds=range(2), threads=1))
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 20, "this thread ran while the other simulated"


def test_a_run_shows_itself(line: lg.Scenario) -> None:
    page = line.run()._repr_html_()
    assert "<svg" in page and "a line" in page and "the expectation holds" in page and "<td>one</td>" in page
    # A line of text takes ten pixels above its baseline.
    assert min(float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', page)) >= 10
    odd = line.set("title", "<b>&")
    assert "&lt;b&gt;&amp;" in odd.run()._repr_html_()


def test_the_figure_of_a_run_has_its_bounds_and_its_changes() -> None:
    demo = lg.demo().set(
        {
            "duration": "12s",
            "warmup": "2s",
            "change": [{"at": "6s", "set": {"link.bottleneck.delay": "20ms"}}],
            "expect": [{"that": "flow.call.owd.p99", "below": "50ms"}],
        }
    )
    page = demo.run()._repr_html_()
    assert "call: at most 50.0 ms" in page and "change at 6 s" in page and "left out of the results" in page
    # The judged flow lies above the others, and is solid.
    last = re.findall(r"<polyline .*?</polyline>", page)[-1]
    assert 'stroke-dasharray="none"' in last and "<title>call</title>" in last


def test_a_run_that_needs_too_much_memory_is_refused(line_file: Path) -> None:
    small = lg.read(line_file, memory=1)
    with pytest.raises(lg.RunError, match="memory"):
        small.run()


def test_every_metric_is_a_property(line: lg.Scenario) -> None:
    run = line.run(seed=1)
    flow, port = run.flows["one"], run.ports["a:b"]
    queue = next(iter(port.queues.values()))
    for subject, of in ((flow, "flow.one"), (port, "port.a:b"), (queue, f"port.a:b.queue.{next(iter(port.queues))}")):
        for name, value in subject.metrics.items():
            assert getattr(subject, name.replace(".", "_")) == value, name
            if isinstance(value, lg.Distribution):
                assert run.summary["metrics"][f"{of}.{name}.p99"] == value.p99, name
            else:
                assert run.summary["metrics"][f"{of}.{name}"] == value, name
    assert flow.sent_packets > 0 and isinstance(flow.sent_packets, int)
    # It is not over TCP, and answers nothing.
    assert flow.cwnd_mean is None and flow.rtt == lg.Distribution()
    assert not run.groups


def test_the_properties_are_those_of_the_list() -> None:
    text = subprocess.run(
        [sys.executable, "-m", "lockgate", "list", "metrics", "--json"], check=True, capture_output=True
    ).stdout
    classes = {
        "flow": lg.FlowResults,
        "group": lg.GroupResults,
        "port": lg.PortResults,
        "queue": lg.QueueResults,
    }
    for metric in json.loads(text):
        if metric["about"] in classes:
            # A name of two words, such as `owd.bound`, is one of Python with a line between them.
            name = metric["name"].replace(".", "_")
            assert isinstance(getattr(classes[metric["about"]], name), property), name
            assert metric["better"] in ("lower", "higher", None)
