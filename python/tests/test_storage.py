"""Stores at addresses: the bytes of a directory's, by Python and by the command, and errors that say why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lockgate as lg
from lockgate._storage import Remote

fsspec = pytest.importorskip("fsspec")

RATES = {"link.line.rate": ["1mbit", "1200kbit"]}


def contents(address: str) -> dict[str, bytes]:
    """Returns all files at an address, by their names."""
    files, root = fsspec.core.url_to_fs(address)
    return {path.removeprefix(root).lstrip("/"): files.cat_file(path) for path in sorted(files.find(root))}


def test_a_store_at_an_address_has_the_bytes_of_a_directory(line_file: Path, tmp_path: Path) -> None:
    line = lg.read(line_file)
    lg.sweep(line, RATES, seeds=range(5), into=tmp_path / "here").run().collect()
    expected = contents(f"file://{tmp_path}/here")
    assert len(expected) == 13
    (tmp_path / "cache").mkdir()
    for address in (f"memory://{tmp_path.name}/a", f"file://{tmp_path}/there", f"simplecache::file://{tmp_path}/cached"):
        plan = lg.sweep(line, RATES, seeds=range(5), into=address)
        assert plan.run(threads=2).status == lg.Status(10, 10, 0), address
        assert plan.collect() == f"{address}/runs.parquet"
        assert contents(address.removeprefix("simplecache::")) == expected, address


def test_a_store_at_an_address_is_resumed_and_refuses_another_plan(line: lg.Scenario, tmp_path: Path) -> None:
    address = f"memory://{tmp_path.name}/b"
    whole = lg.sweep(line, RATES, seeds=range(5), into=address).run().collect()
    files = fsspec.filesystem("memory")
    table = files.cat_file(whole)
    parts = sorted(files.ls(f"{address}/parts", detail=False))
    for part in parts[:4]:
        files.rm_file(part)
    kept = {part: files.created(part) for part in parts[4:]}
    opened = lg.open(address)
    assert opened.status == lg.Status(10, 6, 0) and opened.title == address
    opened.run().collect()
    assert files.cat_file(whole) == table
    assert {part: files.created(part) for part in kept} == kept, "made again"
    with pytest.raises(lg.StoreError, match="another plan: other seeds"):
        lg.sweep(line, RATES, seeds=[1], into=address)
    with pytest.raises(lg.StoreError, match="no plan.json"):
        lg.open(f"memory://{tmp_path.name}/none")
    files.pipe_file(f"{tmp_path.name}/mine/x", b"x")
    with pytest.raises(lg.StoreError, match="other files"):
        lg.sweep(line, RATES, into=f"memory://{tmp_path.name}/mine")


def test_the_command_of_the_package_takes_addresses(line_file: Path, tmp_path: Path, command: list[str]) -> None:
    vary = ["--vary", "link.line.rate=1mbit,1200kbit", "--seeds", "1..5", "--quiet"]
    subprocess.run([*command, "sweep", line_file, *vary, "--into", "here"], check=True)
    address = f"file://{tmp_path}/there"
    for shard in ("2/2", "1/2", "2/2"):
        subprocess.run([*command, "sweep", line_file, *vary, "--into", address, "--shard", shard], check=True)
    subprocess.run([*command, "sweep", "--into", address, "--collect"], check=True)
    assert Path("there/runs.parquet").read_bytes() == Path("here/runs.parquet").read_bytes()
    assert json.loads(Path("there/plan.json").read_text())["scenario"] == "line.toml"
    status = subprocess.run([*command, "sweep", "--into", "nonsense://x", "--status"], capture_output=True, text=True)
    assert status.returncode == 2 and "nonsense" in status.stderr and "Traceback" not in status.stderr


def test_a_file_is_written_whole_or_not_at_all(
    line: lg.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"file://{tmp_path}/store"
    plan = lg.sweep(line, RATES, seeds=range(5), into=address)
    local = type(fsspec.filesystem("file"))
    write = local.pipe_file
    left = 4

    def full(self: Any, path: str, value: bytes, *args: Any, **kwargs: Any) -> None:
        """Writes half of the fifth file."""
        nonlocal left
        left -= 1
        write(self, path, value if left >= 0 else value[: len(value) // 2], *args, **kwargs)
        if left < 0:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(local, "pipe_file", full)
    with pytest.raises(lg.StoreError, match="No space left"):
        plan.run(threads=1)
    names = sorted(path.name for path in (tmp_path / "store/parts").iterdir())
    assert len(names) == 4 and all(name.endswith(".parquet") for name in names)
    monkeypatch.undo()
    assert lg.open(address).run().status == lg.Status(10, 10, 0)


def test_what_opens_no_address_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(lg.StoreError, match="nonsense"):
        Remote("nonsense://bucket/x")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(lg.StoreError, match=r"pip install lockgate\[fsspec\]"):
        lg.open("s3://bucket/x")
