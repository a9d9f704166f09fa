"""Plans: the same store as the command, resumed, compared; errors before the first run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import lockgate as lg

RATES = {"link.line.rate": ["1mbit", "1200kbit"]}


def test_a_store_has_the_bytes_of_the_command(line_file: Path, command: list[str]) -> None:
    vary = ["--vary", "link.line.rate=1mbit,1200kbit", "--seeds", "1..5"]
    subprocess.run([*command, "sweep", line_file, *vary, "--into", "theirs", "--quiet"], check=True)
    plan = lg.sweep(lg.read(line_file), RATES, seeds=range(1, 6), into="ours")
    assert len(plan) == 10 and len(plan.missing) == 10
    table = plan.run().collect()
    assert table == "ours/runs.parquet"
    names = sorted(str(path.relative_to("ours")) for path in Path("ours").rglob("*") if path.is_file())
    assert names == sorted(
        str(path.relative_to("theirs")) for path in Path("theirs").rglob("*") if path.is_file()
    )
    for name in names:
        assert Path("ours", name).read_bytes() == Path("theirs", name).read_bytes(), name
    # Each continues what the other began.
    for part in sorted(Path("theirs/parts").iterdir())[:4]:
        part.unlink()
    opened = lg.open("theirs")
    assert opened.status == lg.Status(10, 6, 0) and opened.status.missing == 4
    assert Path(opened.run().collect()).read_bytes() == Path(table).read_bytes()
    subprocess.run([*command, "sweep", "--into", "ours", "--resume", "--quiet"], check=True)


def test_a_table_has_a_row_for_each_run(line: lg.Scenario) -> None:
    plan = lg.sweep(line, RATES, seeds=[4, 2], metrics=["flow.one.owd.p99", "flow.one.loss"]).run()
    table = plan.table().to_dict()
    assert table["link.line.rate"] == ["1mbit", "1mbit", "1200kbit", "1200kbit"]
    assert table["seed"] == [4, 2, 4, 2]
    assert table["flow.one.owd.p99"][0] == line.run(seed=4).metric("flow.one.owd.p99")
    assert plan.variants == [{"link.line.rate": "1mbit"}, {"link.line.rate": "1200kbit"}]
    with pytest.raises(ValueError, match="no store"):
        plan.collect()


def test_variants_are_compared_as_by_the_command(line_file: Path, command: list[str]) -> None:
    vary = ["--vary", "link.line.rate=1mbit,1200kbit", "--seeds", "1..10", "--json", "-"]
    answer = subprocess.run([*command, "compare", line_file, *vary, "--quiet"], check=True, capture_output=True)
    theirs = json.loads(answer.stdout)["metrics"][0]["comparison"]
    comparison = lg.compare(lg.read(line_file), RATES)
    ours = comparison.metrics[0]
    assert (ours.best, ours.reference) == (theirs["best"], theirs["reference"]) == (1, 1)
    assert ours.differences[0] is not None and ours.differences[0].verdict == "differs"
    assert ours.differences[0].mean == theirs["differences"][0]["mean"] and ours.differences[1] is None
    text = str(comparison)
    assert "2 variants x 10 seeds" in text and "± " in text and text.count("*") == 2
    assert "<table>" in comparison._repr_html_()
    same = lg.compare(lg.read(line_file), {"link.line.delay": ["0s", "0ms"]}, base=1, seeds=[1, 2])
    difference = same.metrics[0].differences[0]
    assert difference is not None and difference.verdict == "same"


def test_ranges_groups_and_several_paths_vary(line: lg.Scenario) -> None:
    vary: dict[str | tuple[str, ...], str] = {
        "link.line.rate": "1mbit..4mbit log 3",
        ("link.line.delay",): "1ms..2ms step 1ms",
    }
    plan = lg.sweep(line, vary)
    assert len(plan.variants) == 6 and plan.variants[1] == {"link.line.rate": "1mbit", "link.line.delay": "2ms"}
    together = lg.sweep(line, vary_together={"link.line.rate": ["1mbit", "2mbit"], "link.line.loss": ["1%", "2%"]})
    assert together.variants == [
        {"link.line.rate": "1mbit", "link.line.loss": "1%"},
        {"link.line.rate": "2mbit", "link.line.loss": "2%"},
    ]


def test_what_is_wrong_is_said_before_the_first_run(line: lg.Scenario, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, list[str] | str], str]] = [
        ({"link.lime.rate": ["1mbit", "2mbit"]}, "did you mean `line`"),
        ({"link.line.rate": ["1mbit", "2mbix"]}, "2mbix"),
        ({"link.line.rate": "1mbit..2ms step 1ms"}, "is no range"),
        ({}, "nothing varies"),
    ]
    for vary, expected in wrong:
        with pytest.raises((lg.PlanError, lg.ScenarioError), match=expected):
            lg.sweep(line, vary)
    with pytest.raises(lg.MetricError, match="no variant has the metric"):
        lg.sweep(line, RATES, metrics=["flow.two.owd.p99"])
    with pytest.raises(lg.MetricError, match="did you mean"):
        lg.sweep(line, RATES, metrics=["flow.one.owd.p98"])
    with pytest.raises(lg.StoreError, match="no plan.json"):
        lg.open(tmp_path)
    lg.sweep(line, RATES, seeds=[1], into=tmp_path / "store")
    with pytest.raises(lg.StoreError, match="another plan: other seeds"):
        lg.sweep(line, RATES, seeds=[1, 2], into=tmp_path / "store")


def test_seeds_are_different_and_not_too_many(line: lg.Scenario) -> None:
    def calls(seeds: Iterable[int]) -> list[Callable[[], object]]:
        return [
            lambda: line.run(seeds=seeds),
            lambda: lg.sweep(line, RATES, seeds=seeds),
            lambda: lg.compare(line, RATES, seeds=seeds),
        ]

    for call in calls([1, 2] * 10):
        with pytest.raises(lg.PlanError, match="seed 1 is named twice"):
            call()
    # Read no further than the limit.
    for call in calls(range(10**9)):
        with pytest.raises(lg.PlanError, match="more than 10000 seeds"):
            call()
    with pytest.raises(TypeError):
        line.run(seeds=["1"])  # type: ignore[list-item]
    assert line.run(seeds=(seed for seed in (3, 1))).seeds == [3, 1]


def test_a_store_of_another_version_is_refused(line: lg.Scenario, tmp_path: Path) -> None:
    store = tmp_path / "store"
    lg.sweep(line, RATES, seeds=[1], into=store)
    document = json.loads((store / "plan.json").read_text())
    document["lockgate"] = "0.0.1"
    (store / "plan.json").write_text(json.dumps(document))
    with pytest.raises(lg.VersionError, match="of version 0.0.1, and this is"):
        lg.open(store).run()
    with pytest.raises(lg.StoreError, match="version 0.0.1"):
        lg.sweep(line, RATES, seeds=[1], into=store)


def test_a_scenario_without_a_file_is_resumed_from_its_store(
    line: lg.Scenario, tmp_path: Path, command: list[str]
) -> None:
    store = tmp_path / "store"
    lg.sweep(line, RATES, seeds=[1, 2], into=store)
    assert json.loads((store / "plan.json").read_text())["scenario"] == str(store / "scenario.toml")
    subprocess.run([*command, "sweep", "--into", store, "--resume", "--quiet"], check=True)
    assert lg.open(store).status == lg.Status(4, 4, 0)


def test_progress_is_told(line: lg.Scenario) -> None:
    told: list[tuple[int, int]] = []
    plan = lg.sweep(line, RATES, seeds=range(20))
    plan.run(progress=lambda ended, all: told.append((ended, all)))
    assert plan.status == lg.Status(40, 40, 0) and all(one == 40 for _, one in told)
