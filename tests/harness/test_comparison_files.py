# SPDX-License-Identifier: Apache-2.0
"""A model's file on two sides: its own engine runs it as it is, and parts of it run where they
run."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halyard.cli import cli
from tests.harness import onnx_models

pytest.importorskip("onnxruntime")


def compared(*words: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *words])


def document(folder: Path, *words: str) -> dict:
    path = folder / "compare.json"
    compared(*words, "--json", str(path))
    return json.loads(path.read_text())


def test_weights_in_a_file_beside_are_found_from_the_models_place(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_models.with_data_beside(tmp_path).SerializeToString())
    done = compared("onnxruntime", "CpuAcc", str(path), "--layers")
    assert done.exit_code == 0, done.output
    said = document(tmp_path, "onnxruntime", "CpuAcc", str(path), "--layers")
    assert [each["outputs"] != [] for each in said["input_sets"]] == [True]
    verdicts = [layer["verdict"] for layer in said["layers"]["layers"]]
    assert verdicts.count("agrees") > len(verdicts) / 2
