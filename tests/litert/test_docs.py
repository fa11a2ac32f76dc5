# SPDX-License-Identifier: Apache-2.0
"""What docs/litert.md says is true: its programs run, its commands do, its tables are whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.errors import ProgramMissing
from halyard.litert import delegate_library, plugin_library
from halyard.litert.npu_environment import OPTIONS
from tests.harness import tflite_models

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "litert.md").read_text()
[OF_THE_DELEGATE, OF_THE_NPU] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With model.tflite in it."""
    try:
        delegate_library(), plugin_library()
    except ProgramMissing as error:
        pytest.skip(str(error))
    graph, outputs = tflite_models.conv_net()
    (tmp_path / "model.tflite").write_bytes(graph.content(*outputs))
    return tmp_path


def _said(folder: Path, *words: str, **variables: str) -> str:
    others = {name: value for name, value in os.environ.items() if name != OPTIONS}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**others, "PYTHONPATH": str(ROOT / "harness"), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_delegates_program_runs(folder: Path) -> None:
    assert "8 of 8 operators in 1 partition" in _said(folder, sys.executable, "-c", OF_THE_DELEGATE)


def test_the_npus_program_runs(folder: Path) -> None:
    assert _said(folder, sys.executable, "-c", OF_THE_NPU).splitlines()[-1] == "8 0"


@pytest.mark.parametrize("program", [OF_THE_DELEGATE, OF_THE_NPU], ids=["delegate", "npu"])
def test_a_door_is_ten_lines(program: str) -> None:
    assert len([line for line in program.splitlines() if line]) <= 10


def test_the_command_line_opens_both_doors(folder: Path) -> None:
    command = [sys.executable, "-m", "halyard", "run", "model.tflite", "--num-runs", "2"]
    for device in ("litert-delegate", "litert-npu"):
        assert device in PAGE
        assert "model.tflite" in _said(folder, *command, "--device", device)


def _options(heading: str) -> set[str]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_option_is_on_the_page() -> None:
    header = (ROOT / "litert" / "delegate" / "options.h").read_text()
    [said] = re.findall(r"Each option once: (.*?)\.\n", header, re.DOTALL)
    for example in re.findall(r"\(.*?\)", said, re.DOTALL):
        said = said.replace(example, "")
    assert _options("The delegate") == set(re.findall(r"\w+", said.replace("//", "")))
    header = (ROOT / "litert" / "vendor" / "options.h").read_text()
    assert _options("The NPU of LiteRT 2") == set(re.findall(r"^//   (\w+)=", header, re.MULTILINE))
