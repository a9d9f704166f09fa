"""Docstrings, examples, guides and the tutorial are run; types are checked strictly."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import lockgate

PACKAGE = Path(__file__).parents[1]
GUIDES = PACKAGE.parent / "docs" / "guides"
MODULES = [f"lockgate.{module.name}" for module in pkgutil.iter_modules(lockgate.__path__)]


@pytest.mark.parametrize("name", ["lockgate", *MODULES])
def test_docstrings_hold(name: str) -> None:
    if name in ("lockgate._lockgate", "lockgate.__main__"):
        return
    if name == "lockgate.gym":
        pytest.importorskip("gymnasium")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_has_a_docstring() -> None:
    for name in lockgate.__all__:
        thing = getattr(lockgate, name)
        if name == "__version__":
            continue
        assert (thing.__doc__ or "").strip(), name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert (value.__doc__ or "").strip(), f"{name}.{member}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"learn_a_rate": "gymnasium", "quic_over_a_path": "aioquic"}
    if path.stem in needs:
        pytest.importorskip(needs[path.stem])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")


def test_types_are_strict() -> None:
    pytest.importorskip("mypy")
    check = [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml")]
    what = [str(PACKAGE / "lockgate"), str(PACKAGE / "examples"), str(PACKAGE / "tests"), str(PACKAGE / "benchmarks")]
    answer = subprocess.run([*check, *what], cwd=PACKAGE, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout


def test_the_tutorial_runs(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(PACKAGE / "examples" / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<svg" in str(output.get("data", {}).get("text/html", "")) for output in shown)


@pytest.mark.parametrize("name", ["python", "coming-from", "cluster", "moving-line"])
def test_blocks_of_the_guides_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks marked `python` run one after the other, in the directory of the shipped scenarios' copies."""
    for file in (PACKAGE.parent / "scenarios").glob("*.toml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        for module in re.findall(r"^(?:import|from) (polars|pandas|duckdb|distributed)", block, re.MULTILINE):
            pytest.importorskip(module)
        exec(compile(block, f"{name}.md", "exec"), names)
