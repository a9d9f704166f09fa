"""Plans: the same store as the command, resumed, compared; errors before the first run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable
from html import escape
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
    theirs = {str(path.relative_to("theirs")) for path in Path("theirs").rglob("*") if path.is_file()}
    # The command leaves a page as well.
    assert names == sorted(theirs - {"report.html"})
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
    assert table["link.line.rate_bps"] == [1e6, 1e6, 1.2e6, 1.2e6]
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
    assert "2 variants × 10 seeds" in text and "± " in text and text.count("*") == 2
    # One table: the command's terminal, here, and in a notebook.
    terminal = [*command, "compare", str(line_file), *vary[:-2], "--quiet"]
    wide = {**os.environ, "COLUMNS": "200"}
    printed = subprocess.run(terminal, check=True, capture_output=True, text=True, env=wide).stdout
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    html = comparison._repr_html_()
    for row in comparison.rows():
        assert " ".join(" ".join(row).split()) in lines
        assert all(f">{cell}<" in html for cell in row)
    assert comparison.decision and all(escape(sentence) in html for sentence in comparison.decision)
    assert all(sentence in lines for sentence in comparison.sentences)
    same = lg.compare(line_file, {"expect.0.below": ["9s", "10s"]}, base=1, seeds=[1, 2])
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


def test_numbers_are_in_the_parquet_table(line: lg.Scenario, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    vary = {**RATES, "link.line.delay": ["1ms", "2ms"], "flow.one.transport": ["udp"]}
    plan = lg.sweep(line, vary, seeds=[1], into=tmp_path / "store").run()
    written = parquet.read_table(plan.collect())
    assert written.to_pydict() == plan.table().to_dict()
    assert written["link.line.rate_bps"].to_pylist()[0] == 1e6 and written["link.line.delay_s"].to_pylist()[0] == 1e-3
    assert not any(name.startswith("flow.one.transport_") for name in written.column_names), "no number"


def test_ranges_have_no_value_twice(line: lg.Scenario) -> None:
    assert len(lg.sweep(line, {"link.line.rate": "1mbit..20mbit log 1000"}, seeds=[1]).variants) == 1000


def test_variants_have_names_of_their_own(line: lg.Scenario, line_file: Path) -> None:
    """Two variants of one scenario are compared with themselves, and not with each other."""
    fast = line.set("link.line.rate", "4mbit")
    for both in ([line, fast], {"slow": line, "fast": fast}, [lg.read(line_file), lg.read(line_file).set("title", "t")]):
        tests = lg.test(both, seeds=range(1, 4))
        names = [one.file for one in tests.results]
        assert len(set(names)) == 2 and all(name in str(tests) for name in names)
        file = tests.save_baseline("main.json")
        assert sorted(json.loads(file.read_text())["files"]) == sorted(names)
        again = lg.test(both, seeds=range(1, 4), baseline=file)
        differences = [one["changes"][0]["difference"]["mean"] for one in again.document["files"]]
        assert differences == [0.0, 0.0] and not again.warnings
        assert again.document["files"][0]["changes"][0]["new"] == line.run(seeds=range(1, 4)).interval("flow.one.owd.p99").mean
    assert [one.file for one in lg.test([line, fast]).results] == ["a line", "a line link.line.rate=4mbit"]
    for same in ([line, line], [line, lg.parse(fast.to_toml())], [line_file, line_file], {"a": line_file, "b": line_file}):
        if isinstance(same, dict):
            assert [one.file for one in lg.test(same).results] == ["a", "b"]
            continue
        with pytest.raises(lg.ArgumentError, match="two scenarios are called"):
            lg.test(same)


def test_what_is_wrong_is_said_before_the_first_run(line: lg.Scenario, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, list[str] | str], str]] = [
        ({"link.lime.rate": ["1mbit", "2mbit"]}, "did you mean `line`"),
        ({"link.line.rate": ["1mbit", "2mbix"]}, "2mbix"),
        ({"link.line.rate": "1mbit..2ms step 1ms"}, "is not a range"),
        ({}, "nothing varies"),
        ({"link.line.rate": ["1mbit", "1000kbit"]}, "`1000kbit` is there twice"),
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
    for call in [*calls([]), lambda: lg.test(line, seeds=[])]:
        with pytest.raises(lg.PlanError, match="there are no seeds"):
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
    assert told[-1] == (40, 40), "also the end"


def test_a_search_is_that_of_the_command(line_file: Path, command: list[str]) -> None:
    goal, ranges = "min flow.one.owd.p99", "500kbit..2mbit"
    options = ["--vary", f"link.line.rate={ranges}", "--goal", goal, "--runs", "10", "--seeds", "1..2"]
    answer = [*command, "tune", str(line_file), *options, "--validate", "11..13", "--json", "-", "--quiet"]
    theirs = json.loads(subprocess.run(answer, check=True, capture_output=True).stdout)
    told: list[tuple[int, int]] = []
    tuned = lg.tune(
        lg.read(line_file),
        {"link.line.rate": ranges},
        goals=goal,
        runs=10,
        seeds=[1, 2],
        validate=[11, 12, 13],
        progress=lambda ended, of: told.append((ended, of)),
    )
    assert tuned.document == theirs
    assert len(tuned.points) == len(theirs["tried"]) == 5 and tuned.metrics == ["flow.one.owd.p99"]
    best = tuned.recommended[0]
    assert best.role == "the winner" and best.command.startswith(f"lockgate run {line_file} --set 'link.line.rate=")
    assert tuned.best is not None and tuned.best.settings == tuned.points[best.point].settings
    assert "<table>" in tuned._repr_html_() and "paired by seed" in str(tuned)
    with pytest.raises(lg.PlanError, match="of the search and of the judgement"):
        lg.tune(lg.read(line_file), {"link.line.rate": ranges}, goals=goal, seeds=[1], validate=[1])
    with pytest.raises(lg.PlanError, match="is not a goal"):
        lg.tune(lg.read(line_file), {"link.line.rate": ranges}, goals="flow.one.owd.p99")
    impossible = lg.tune(
        lg.read(line_file), {"link.line.rate": ranges}, goals=goal, subject_to="flow.one.owd.p99 <= 1us", runs=10
    )
    assert impossible.recommended == [] and impossible.best is None


def test_expectations_are_tested_as_by_the_command(line_file: Path, command: list[str], tmp_path: Path) -> None:
    answer = [*command, "test", str(line_file), "missing.toml", "--seeds", "1..3", "--json"]
    theirs = json.loads(subprocess.run(answer, capture_output=True).stdout)
    tests = lg.test([line_file, "missing.toml"], seeds=[1, 2, 3])
    ours = tests.results
    assert tests.document["files"][0] == theirs["files"][0]
    assert [one.holds for one in ours] == [True, False] and not tests.holds
    assert ours[0].expect[0].that == "flow.one.owd.p99" and len(ours[0].expect[0].values) == 3
    assert ours[1].error is not None and "missing.toml" in ours[1].error
    assert '<testsuite name="' in tests.junit and "1 of 1 expectations hold" in str(tests)
    file = lg.test(line_file, seeds=[1, 2, 3]).save_baseline(tmp_path / "main.json")
    faster = lg.read(line_file).set("link.line.rate", "2mbit")
    changed = lg.test(faster, seeds=[1, 2, 3], baseline=file)
    assert changed.results[0].file == str(line_file) and "flow.one.owd.p99" in str(changed) and "<table>" in changed._repr_html_()
    assert changed.document["files"][0]["changes"][0]["difference"]["mean"] < 0 and not changed.warnings
    with pytest.raises(lg.RunError, match="of the seeds"):
        lg.test(faster, seeds=[1], baseline=file)
    with pytest.raises(lg.RunError, match="none.json"):
        lg.test(faster, baseline="none.json")
    worse = lg.read(line_file).set("link.line.rate", "700kbit")
    assert lg.test(worse, seeds=[1, 2, 3], baseline=file).holds
    held = lg.test(worse, seeds=[1, 2, 3], baseline=file, fail_on_regression=lg.percent(5))
    assert not held.holds and "regression of flow.one.owd.p99" in held.junit
    assert lg.test(faster, seeds=[1, 2, 3], baseline=file, fail_on_regression="5%").holds
    for of, share in [(None, "5%"), (file, "five")]:
        with pytest.raises(lg.Error, match="fail_on_regression"):
            lg.test(faster, seeds=[1, 2, 3], baseline=of, fail_on_regression=share)
    with pytest.raises(lg.ArgumentError, match="nothing would be tested"):
        lg.test([])
    with pytest.raises(lg.ArgumentError, match="both"):
        lg.read(line_file).run(1, seeds=[1, 2])
