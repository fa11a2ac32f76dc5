# SPDX-License-Identifier: Apache-2.0
"""A model's file on two sides: its own engine runs it as it is, and parts of it run where they
run."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto

from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.comparison.choice import choose
from halyard.comparison.comparison import Inputs, Settings, compare_sides
from halyard.comparison.opening import Sides
from halyard.comparison.side import Answer
from halyard.engines import parts
from halyard.engines.engine import EngineRefused
from halyard.engines.workload import Workload
from halyard.model import NnapiPart, RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.proto import halyard_pb2 as pb
from tests.harness import onnx_models
from tests.harness.comparison.test_comparison import FakeTorch
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


def compared(*words: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *words])


def document(folder: Path, *words: str) -> Any:
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


# ---- models in parts ----------------------------------------------------------------------------


def convolutions(folder: Path, *, damage: bool = False) -> Path:
    """Two, with an Atan between them that NNAPI has not. The damaged file's second one is another,
    of the same names."""
    g = Graph(5)
    x = g.op("Conv", g.input("image", (1, 3, 16, 16)), g.weights(8, 3, 3, 3), pads=[1, 1, 1, 1])
    filters = g.weights(8, 8, 3, 3)
    model = g.model(g.op("Conv", g.op("Atan", x), filters, pads=[1, 1, 1, 1]))
    if damage:
        for tensor in model.graph.initializer:
            if tensor.name == filters:
                tensor.raw_data = (1.5 * np.frombuffer(tensor.raw_data, "<f4")).tobytes()
    path = folder / "parts.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("a", ["onnxruntime", "CpuRef"])
def test_whole_outputs_of_a_model_in_parts_are_compared(tmp_path: Path, a: str) -> None:
    path = str(convolutions(tmp_path))
    done = compared(a, "CpuAcc", path, "--seeds", "2")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "within limits"
    assert "parts      3, of operations: " in done.output
    told = r"B  CpuAcc \(.*, 1 on host; the host's share of the time: \d+%\)"
    assert re.search(told, done.output)
    said = document(tmp_path, a, "CpuAcc", path, "--seeds", "2")
    assert 0 < said["b"]["host_share"] < 1
    assert (said["a"]["host_share"] is None) == (a == "onnxruntime")
    assert said["b"]["backends"] == {"CpuAcc": 6, "host": 1}
    statistics = [each["outputs"][0]["statistics"] for each in said["input_sets"]]
    assert [each["elements"] for each in statistics] == [8 * 16 * 16] * 2


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("a", ["onnxruntime", "CpuRef"])
def test_layers_are_compared_inside_of_nnapis_parts(
    tmp_path: Path, a: str, *, isolate: bool
) -> None:
    option = "--isolate" if isolate else "--layers"
    said = document(tmp_path, a, "CpuAcc", str(convolutions(tmp_path)), option)
    layers = said["layers"]["layers"]
    assert [each["operation"] for each in layers] == list(range(6))
    labels = [each["label"] for each in layers]
    assert labels[1] == "part 1: operation 1 (CONV_2D)"
    assert labels[4] == "part 3: operation 1 (CONV_2D)"
    assert {each["verdict"] for each in layers} == {"agrees"}
    assert {each["isolated"] is not None for each in layers} == {isolate}
    assert f"what {a} hands from part to part" in said["layers"]["notes"][0]


def test_the_layer_of_a_part_that_diverges_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B computes another file's second part; the first one has no fault."""
    (tmp_path / "other").mkdir()
    other = FileModel(convolutions(tmp_path / "other", damage=True)).runnable
    assert isinstance(other, PartitionedModel)
    wrong = other.parts[2]
    assert isinstance(wrong, NnapiPart)
    benchmark_model = FileModel(convolutions(tmp_path))
    model = benchmark_model.runnable
    assert isinstance(model, PartitionedModel)
    right = model.parts[2]
    assert isinstance(right, NnapiPart)
    with Sides() as sides:
        a, b = (sides.open(choose(each), benchmark_model) for each in ("onnxruntime", "CpuAcc"))
        run = b.run

        def exchanged(works: Sequence[Workload]) -> list[Answer]:
            """Constants of the other."""
            for work in works:
                for mine in (work.model.model, *_models_of(work.model)):
                    if right.model.operand_values == mine.operand_values:
                        mine.operand_values = wrong.model.operand_values
                    if list(mine.pools) == list(right.model.pools):
                        mine.ClearField("pools")
                        mine.pools.extend(wrong.model.pools)
            return run(works)

        monkeypatch.setattr(b, "run", exchanged)
        inputs = [Inputs("seed 0", model.input_arrays(0))]
        found = compare_sides(model, a, b, inputs, Settings(layers=True))
    assert not found.ok
    assert found.layers is not None
    assert found.layers.first is not None
    assert found.layers.first.label == "part 3: operation 1 (CONV_2D)"
    assert found.layers.first.operation == 4


def _models_of(model: RunnableModel) -> list[pb.Model]:
    parts = model.parts if isinstance(model, PartitionedModel) else ()
    return [part.model for part in parts if isinstance(part, NnapiPart)]


def test_a_side_that_does_not_tell_what_is_between_parts_has_no_layers(tmp_path: Path) -> None:
    said = document(tmp_path, "litert", "CpuAcc", str(convolutions(tmp_path)), "--layers")
    assert {each["reason"] for each in said["layers"]["layers"]} == {
        "litert does not tell what goes from part to part"
    }
    [problem] = said["problems"]
    assert problem == (
        "seed 0: litert gave nothing: a model that runs in parts is not written as TFLite: its "
        "file is ONNX"
    )


def test_no_engine_is_given_what_nnapi_runs_of_a_file_for_the_file(tmp_path: Path) -> None:
    """Of float16, which libraries get in float32."""
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3), TensorProto.FLOAT16))
    path = tmp_path / "halves.onnx"
    path.write_bytes(g.model(g.op("Relu", g.op("Atan", x))).SerializeToString())
    said = document(tmp_path, "litert", "CpuAcc", str(path))
    [problem] = said["problems"]
    assert problem.endswith("is not written as TFLite: its file is ONNX")


def test_a_script_of_pytorch_takes_a_model_in_parts_as_its_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script doubles, with channels before the image."""
    monkeypatch.setitem(sys.modules, "torch", FakeTorch)
    g = Graph()
    same = g.op("Atan", g.op("Tan", g.input("x", (1, 3, 4, 5))))
    path, script = tmp_path / "double.onnx", tmp_path / "model.pt"
    path.write_bytes(g.model(g.op("Add", same, "x")).SerializeToString())
    script.write_bytes(b"script")
    done = compared(f"torch={script}", "CpuAcc", str(path))
    assert done.exit_code == 0, done.output
    assert "operations: 2 on host, " in done.output


def test_a_part_that_fails_is_why_a_side_gives_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise EngineRefused("it takes no such part")

    monkeypatch.setattr(parts, "run_part", refused)
    said = document(tmp_path, "onnxruntime", "CpuAcc", str(convolutions(tmp_path)))
    assert said["problems"] == ["seed 0: CpuAcc gave nothing: it takes no such part"]


def test_what_the_host_runs_all_of_has_outputs_and_no_layers(tmp_path: Path) -> None:
    g = Graph()
    path = tmp_path / "host.onnx"
    model = g.model(g.op("Atan", g.input("x", (4, 8))))
    path.write_bytes(model.SerializeToString())
    assert document(tmp_path, "onnxruntime", "host", str(path))["b"]["host_share"] == 1
    done = compared("onnxruntime", "host", str(path), "--layers")
    assert done.exit_code == 2
    assert "runs on the host alone, and NNAPI runs no layer" in done.output
