"""Scenarios: read, built, changed, sent; and errors with the place underlined."""

from __future__ import annotations

import pickle
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg
from lockgate import _toml

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


def test_units_round_to_what_a_scenario_has(line: lg.Scenario) -> None:
    """Computed numbers, those of numpy, and exact ones: five thousand of each are read as they are written."""
    assert lg.ms(0.1 + 0.2) == "0.3ms" and lg.mbit(1 / 3) == "0.333333mbit" and lg.s(Fraction(1, 3)) == "0.333333333333s"
    assert lg.kB(Decimal("1.5")) == "1.5kB" and lg.packets(2.0) == "2p" and lg.bit(0.4) == "0bit" and lg.ms(-0.0) == "0ms"
    draw = random.Random(1)
    for _ in range(5000):
        speed, delay = draw.uniform(0.001, 1000), 10 ** draw.uniform(-9, 6)
        text = f"a = {_toml.inline([lg.mbit(speed), lg.ms(delay)])}"
        assert "e" not in text and len(text.partition(".")[2]) < 40
        assert float(lg.mbit(speed).removesuffix("mbit")) == pytest.approx(speed, abs=5.1e-7)
        assert float(lg.ms(delay).removesuffix("ms")) == pytest.approx(delay, rel=1e-14, abs=5.1e-10)
    for _ in range(500):
        changed = line.set({"link.line.rate": lg.mbit(draw.uniform(1, 20)), "link.line.delay": lg.ms(draw.uniform(0, 9))})
        rate = float(changed.settings[0].split("=")[1].removesuffix("mbit")) * 1e6
        assert changed.links[0].rate == pytest.approx(rate, rel=1e-12)
    for wrong in (True, "abc", None, [1], -1, 1j):
        with pytest.raises(lg.ArgumentError):
            lg.packets(wrong)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers(line: lg.Scenario) -> None:
    np = pytest.importorskip("numpy")
    assert [lg.mbit(x) for x in np.linspace(1, 4, 4)] == ["1mbit", "2mbit", "3mbit", "4mbit"]
    for kind in ("float16", "float32", "float64", "longdouble", "int8", "uint64"):
        assert lg.ms(np.dtype(kind).type(5)) == "5ms"
    assert lg.ms(np.float32(0.1)) == "0.1ms" and lg.s(np.array(2.5)) == "2.5s"
    for value, text in ((np.float64(0.1), "0.1"), (np.int64(3), "3"), (np.bool_(True), "true"), (np.arange(2), "[0, 1]")):
        assert _toml.inline(value) == text
    assert line.set("link.line.loss", np.float64(0.1)).settings == ["link.line.loss=0.1"]
    plan = lg.sweep(line, {"link.line.loss": np.linspace(0, 0.2, 3)}, seeds=np.arange(1, 3))
    assert [one["link.line.loss"] for one in plan.variants] == ["0.0", "0.1", "0.2"] and plan.seeds == [1, 2]


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
