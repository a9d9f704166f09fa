"""Scenarios: read, built, changed, sent; and errors with the place underlined."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_a_scenario_that_is_built_is_the_one_that_is_read() -> None:
    built = lg.Scenario(
        "a line",
        duration=lg.s(1),
        node={"a": {}, "b": {}},
        link={"line": {"between": ["a", "b"], "rate": lg.mbit(1)}},
        port={"a:b": {"queue": {"fair": {"kind": "fq_codel", "target": lg.ms(5), "ecn": True}}}},
        flow={
            "one": {
                "from": "a",
                "to": "b",
                "size": lg.B(500),
                "gap": {"distribution": "exponential", "mean": lg.ms(5)},
            }
        },
        change=[{"at": "0.5s", "set": {"link.line.rate": "2mbit"}}],
        expect=[{"that": "flow.one.owd.p99", "below": "10s"}],
    )
    read = lg.parse(built.to_toml())
    assert built.run(seed=3).summary == read.run(seed=3).summary
    assert built.ports["a:b"] == ["fair"] and built.links[0].rate == 1e6 and built.links[0].ends == ("a", "b")


def test_a_change_gives_another_scenario(line: lg.Scenario) -> None:
    slower = line.set("link.line.rate", lg.kbit(500))
    assert (line.links[0].rate, slower.links[0].rate) == (1e6, 5e5)
    both = line.set({"link.line.rate": "3mbit", "duration": "2s"})
    assert (both.links[0].rate, both.duration) == (3e6, 2.0)
    assert 'rate = "3mbit"' in both.to_toml() and both.settings == ["link.line.rate=3mbit", "duration=2s"]


def test_a_scenario_can_be_sent_to_another_process(line: lg.Scenario) -> None:
    slower = line.set("link.line.rate", "500kbit")
    copy = pickle.loads(pickle.dumps(slower))
    assert copy == slower and copy != line
    assert copy.run(seed=2).summary == slower.run(seed=2).summary


def test_every_problem_is_an_underlined_place() -> None:
    text = 'duration = "1s"\nnode = { a = {}, b = {} }\nlink.line = { between = ["a", "c"], rate = "1mbix" }\n'
    with pytest.raises(lg.ScenarioError) as raised:
        lg.parse(text, "wrong.toml")
    problems = raised.value.problems
    assert {(one.line, one.column) for one in problems} >= {(3, 31), (3, 44)}
    assert "wrong.toml:3:" in str(raised.value) and "1mbix" in str(raised.value)
    # The line, and the mark beneath it.
    assert "─" in problems[-1].text and problems[-1].text in str(raised.value)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, lg.Error)


def test_a_misspelt_path_names_the_nearest(line: lg.Scenario) -> None:
    with pytest.raises(lg.ScenarioError, match="did you mean `line`"):
        line.set("link.lime.rate", "2mbit")
    with pytest.raises(lg.ScenarioError, match="2mbix"):
        line.set("link.line.rate", "2mbix")
    with pytest.raises(TypeError, match="has no value"):
        line.set("link.line.rate")


def test_values_that_no_scenario_has_are_refused(line: lg.Scenario) -> None:
    values: list[Any] = [None, 5]
    for wrong in values:
        with pytest.raises(TypeError, match="takes a path"):
            line.set(wrong)
    ring: list[Any] = []
    ring.append(ring)
    table: dict[str, Any] = {}
    table["x"] = [table]
    for value in (ring, table):
        with pytest.raises(ValueError, match="contains itself"):
            line.set("port.a:b.queue.q", value)
        with pytest.raises(ValueError, match="contains itself"):
            lg.sweep(line, {"link.line.rate": [value]})
    for number in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="not finite"):
            lg.mbit(number)


def test_a_scenario_is_immutable(line: lg.Scenario) -> None:
    unchecked: Any = line
    for name in ("x", "title"):
        with pytest.raises(AttributeError):
            setattr(unchecked, name, 1)


def test_a_scenario_replaces_only_a_scenarios_file(line: lg.Scenario, tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    line.save(path)
    line.set("link.line.rate", "2mbit").save(path)
    assert lg.read(path).links[0].rate == 2e6
    other, link = tmp_path / "notes.toml", tmp_path / "link.toml"
    other.write_text("mine = true\n")
    link.symlink_to(path)
    for wrong in (other, link, tmp_path):
        with pytest.raises(lg.RunError):
            line.save(wrong)
    assert other.read_text() == "mine = true\n" and link.is_symlink() and lg.read(path).links[0].rate == 2e6


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(lg.ScenarioError, match="there is no such file"):
        lg.read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(lg.ScenarioError, match="not UTF-8"):
        lg.read(tmp_path / "bytes.toml")


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_scenarios_are_read_and_shown(path: Path) -> None:
    scenario = lg.read(path)
    assert scenario.flows and scenario.title in repr(scenario)
    assert "<details>" in scenario._repr_html_()
