# SPDX-License-Identifier: Apache-2.0
"""No test file is missed: pytest goes into every folder, and says where it did not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "def test_something():\n    pass\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One whose tests lie in three folders."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = checks\nnorecursedirs = build\n")
    for name in ("checks/test_top.py", "checks/engine/test_a.py", "checks/build/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TEST)
    return tmp_path


def collect(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.collected", "--collect-only", "-q", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("words", [[], ["checks"], ["."], ["checks", "-k", "top"]])
def test_a_whole_run_fails_where_a_file_is_left_out(project: Path, words: list[str]) -> None:
    done = collect(project, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "checks/build/test_b.py" in done.stderr
    assert "test_a.py" not in done.stderr


def test_a_file_without_tests_counts_as_left_out(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ntestpaths = checks\nnorecursedirs = .*\n")
    assert collect(project).returncode == pytest.ExitCode.OK
    (project / "checks/build/test_b.py").write_text("")
    assert "checks/build/test_b.py" in collect(project).stderr


@pytest.mark.parametrize(
    "words", [["checks/engine"], ["checks/test_top.py"], ["--ignore", "checks/build"], ["--lf"]]
)
def test_a_part_of_a_run_leaves_out_what_it_likes(project: Path, words: list[str]) -> None:
    done = collect(project, *words)
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr


def test_a_file_that_does_not_load_is_told_of_as_such(project: Path) -> None:
    (project / "checks/build/test_b.py").write_text("import nowhere\n")
    (project / "pytest.ini").write_text("[pytest]\ntestpaths = checks\nnorecursedirs = .*\n")
    done = collect(project)
    assert "No module named 'nowhere'" in done.stdout
    assert done.returncode == pytest.ExitCode.INTERRUPTED
