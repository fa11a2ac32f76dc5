# SPDX-License-Identifier: Apache-2.0
"""What becomes of what tests/python.sh compiles beside the tests. Scripts are make and pytest."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """With the scripts alone, and a Python whose every run of tests is good and is written down."""
    (tmp_path / "tests").mkdir()
    for name in ("python.sh", "phase.sh"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    written(tmp_path / "python", 'echo "pytest $*" >>runs')
    return tmp_path


def written(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(tree: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["tests/python.sh", "./make", "./python"],
        cwd=tree,
        env={"PATH": os.environ["PATH"], "HALYARD_MAKE": f"{time.time():.6f}", **variables},
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_tests_of_arm64_follow_what_is_compiled(tree: Path) -> None:
    written(tree / "make", "mkdir -p build/arm64/device")
    done = run(tree, HALYARD_TEST_SECONDS="1000")
    assert done.returncode == 0, done.stdout
    assert "tests/arm64" in (tree / "runs").read_text().splitlines()[1]
    assert "LEFT OUT" not in done.stdout


def test_what_can_not_be_compiled_fails(tree: Path) -> None:
    written(tree / "make", "echo no such header; exit 2")
    done = run(tree)
    assert done.returncode == 1
    assert "no such header" in done.stdout


@pytest.mark.parametrize("has_arm64", [False, True])
def test_what_is_not_compiled_in_time_is_left_out_and_said(tree: Path, has_arm64: bool) -> None:
    programs = "mkdir -p build/arm64/device build/stand-in/half; " if has_arm64 else ""
    written(tree / "make", f"{programs}exec sleep 100")
    done = run(tree, HALYARD_TEST_SECONDS="1")
    assert done.returncode == 0, done.stderr
    [said] = [line for line in done.stdout.splitlines() if line.startswith("LEFT OUT: ")]
    runs = (tree / "runs").read_text().splitlines()
    if has_arm64:
        assert said == "LEFT OUT: what clang compiles: make stand-in clang"
        assert "tests/arm64" in runs[1]
        assert not (tree / "build/stand-in").exists()
    else:
        assert said == "LEFT OUT: the tests of arm64: make arm64 && pytest tests/arm64"
        assert len(runs) == 1
