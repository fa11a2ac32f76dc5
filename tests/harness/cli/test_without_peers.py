# SPDX-License-Identifier: Apache-2.0
"""The command line as `pip install halyard` leaves it, without the packages of the extra peers."""

from __future__ import annotations

import subprocess
import sys

import pytest

_WITHOUT = """
import importlib.machinery, runpy, sys

finder = importlib.machinery.PathFinder
find, absent = finder.find_spec, {"ai_edge_litert", "flatbuffers", "onnx", "onnxruntime", "torch"}
finder.find_spec = lambda name, *more: None if name.split(".")[0] in absent else find(name, *more)
sys.argv = ["halyard", *sys.argv[1:]]
runpy.run_module("halyard", run_name="__main__")
"""


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, *words], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("command", ["run", "bench", "compare", "convert", "profile", "save"])
def test_commands_are_there(command: str) -> None:
    done = _command(command, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout


def test_a_model_runs() -> None:
    done = _command("run", "small_classifier", "--size", "32", "--num-runs", "2", "-c", "CpuRef")
    assert done.returncode == 0, done.stdout + done.stderr


def test_litert_as_a_device_says_what_is_missing() -> None:
    done = _command("run", "small_classifier", "--size", "32", "--device", "litert-delegate")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "halyard[peers]" in done.stdout + done.stderr
