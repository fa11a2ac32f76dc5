# SPDX-License-Identifier: Apache-2.0
"""The results that --results keeps of each command."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halyard.cli import program

SMALL = ("--size", "32", "--width", "0.1")
SPEC = """
x = Input("x", ("TENSOR_FLOAT32", [2]))
y = Output("y", ("TENSOR_FLOAT32", [2]))
model = Model().Operation("ADD", x, [10.0, 20.0], 0).To(y)
Example({x: [1.0, 2.0], y: [11.0, 22.0]})
Example({x: [1.0, 2.0], y: [11.0, 99.0]})
"""


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, [str(word) for word in words])


def rows(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


def test_every_command_adds_what_it_found_out(
    invoke: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "results.db"
    spec = tmp_path / "my_add.mod.py"
    spec.write_text(SPEC)
    keep = ("--results", path)
    bench = ("--models", "mobilenet_v1", "--types", "float32", "--threads", "1", "--runs", "3")
    assert invoke("run", *SMALL, *keep).exit_code == 0
    assert invoke("bench", *SMALL, *bench, "--peers", "litert", *keep).exit_code == 0
    assert invoke("conformance", spec, "--derived", "none", *keep).exit_code == 1
    assert invoke("compare", "CpuRef", "CpuAcc", *SMALL, *keep).exit_code == 0
    assert invoke("doctor", "--device", "host", *keep).exit_code in (0, 1)
    assert invoke("vts", spec, "--filter", "GeneratedTest.*_SYNC", *keep).exit_code == 1
    assert rows(
        path,
        "SELECT command, kind, name, ok FROM documents "
        "JOIN sessions ON sessions.id = session LEFT JOIN devices ON devices.id = device "
        "ORDER BY documents.id",
    ) == [
        ("run", "run", "host", 1),
        ("bench", "bench", "host", 1),
        ("conformance", "conformance", "host", 0),
        ("compare", "compare", None, 1),
        ("doctor", "doctor", "host", 1),
        ("vts", "vts", "host", 0),
    ]
    assert rows(path, "SELECT DISTINCT engine FROM timings ORDER BY 1") == [
        ("halyard",),
        ("litert",),
    ]


@pytest.mark.parametrize("command", ["run", "bench", "conformance", "vts", "doctor"])
def test_a_file_that_takes_no_results_is_told_before_anything_runs(
    command: str, invoke: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no results\n" * 100)
    result = invoke(command, "--results", path)
    assert result.exit_code == 1
    assert "this is no SQLite file" in result.output
    assert invoke(command, "--results", tmp_path / "none" / "r.db").exit_code == 2


RUN = ("run", *SMALL, "--repeat", "1")
PROFILE = ("profile", *SMALL, "--runs", "1")
COMPARE = ("compare", "CpuRef", "CpuAcc", *SMALL)
BENCH = ("bench", *SMALL, "--models", "mobilenet_v1", "--threads", "1", "--runs", "1")


DOCTOR = ("doctor", "--device", "host")
CONFORMANCE = ("conformance", "SPEC", "--derived", "none")
VTS = ("vts", "SPEC", "--filter", "GeneratedTest.*_SYNC")


@pytest.mark.parametrize(
    "words",
    [RUN, PROFILE, COMPARE, BENCH, DOCTOR, CONFORMANCE, VTS],
    ids=lambda words: words[0],
)
def test_what_can_not_be_written_is_kept(
    words: tuple[str, ...], invoke: Callable[..., Result], tmp_path: Path
) -> None:
    """To measure it is what takes long."""
    path = tmp_path / "results.db"
    spec = tmp_path / "my_add.mod.py"
    spec.write_text(SPEC)
    command = [spec if word == "SPEC" else word for word in words]
    result = invoke(*command, "--results", path, "--json", "/dev/full")
    assert result.exit_code == 1
    assert "Error: /dev/full: No space left on device" in result.output
    assert rows(path, "SELECT kind FROM documents") == [(words[0],)]


@pytest.mark.parametrize(
    ("words", "lines"), [(RUN, 1), (PROFILE, 2), (COMPARE, 2)], ids=["run", "profile", "compare"]
)
def test_what_can_not_be_printed_is_kept(
    words: tuple[str, ...], lines: int, tmp_path: Path
) -> None:
    """The reader has gone when it has seen what comes before the measurement, as head does."""
    path = tmp_path / "results.db"
    command = [sys.executable, "-m", "halyard", *words, "--results", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
    assert process.returncode == 1
    assert rows(path, "SELECT kind, ok FROM documents") == [(words[0], 1)]
