# SPDX-License-Identifier: Apache-2.0
"""Which model a command is for, as users name it, and what run makes of files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.cli.program import cli
from tests.harness.tflite.test_tflite_parts import mixed
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import conv_net


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["run", "--repeat", "1", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _written(tmp_path / "model.tflite", *conv_net())


@pytest.fixture
def mixed_file(tmp_path: Path) -> Path:
    return _written(tmp_path / "mixed.TFLITE", *mixed())


def _written(path: Path, graph: GraphFile, outputs: list[int]) -> Path:
    path.write_bytes(graph.content(*outputs))
    return path


@pytest.mark.parametrize("option", [(), ("--model",)])
def test_a_file_is_run_and_compared_with_litert(
    option: tuple[str, ...], file: Path, tmp_path: Path
) -> None:
    result = invoke(*option, file, "--device", "host", "--json", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["model"]["file"] == str(file)
    assert document["model"]["name"] == "model.tflite"
    assert document["agreement"]["with"] == "LiteRT"
    assert [each["name"] for each in document["agreement"]["outputs"]] == ["t15", "t12"]


def test_a_model_is_named_once(file: Path) -> None:
    result = invoke(file, "--model", "mobilenet_v2")
    assert result.exit_code == 2
    assert "is the model already" in result.output


def test_what_the_host_runs_is_told(mixed_file: Path) -> None:
    """The case of an extension does not matter."""
    result = invoke(mixed_file, "--device", "host")
    assert result.exit_code == 0, result.output
    assert "parts      3, of operations: NNAPI 2, the host 4, NNAPI 2" in result.output
    assert "host       2 COS 't4': NNAPI has no such operation" in result.output


def test_strict_refuses_what_the_host_would_run(mixed_file: Path) -> None:
    result = invoke(mixed_file, "--device", "host", "--strict")
    assert result.exit_code == 1
    assert "4 operators have no mapping to NNAPI" in result.output


def test_a_file_that_is_spoilt_is_told(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:600])
    result = invoke(file, "--device", "host")
    assert result.exit_code == 1
    assert "model.tflite: this is no .tflite file: it is cut off, or damaged" in result.output
