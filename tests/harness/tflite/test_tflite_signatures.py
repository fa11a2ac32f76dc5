# SPDX-License-Identifier: Apache-2.0
"""A file's signatures, and files of several models."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert import schema_py_generated as schema
from click.testing import CliRunner

from halyard import conversion
from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.errors import HalyardError
from halyard.model.read_options import ReadOptions
from tests.harness.on_parts import converted
from tests.harness.tflite_file import GraphFile, packed


def _branch(scale: float) -> tuple[GraphFile, int]:
    graph = GraphFile()
    source, output = graph.input((1, 3)), graph.tensor((1, 3))
    graph.add("MUL", [source, graph.constant([scale])], [output], "MulOptions")
    return graph, output


def _model() -> Any:
    """Signature add of the first graph, mul of the second, choose of the fourth, whose IF names the
    first and the third."""
    graph = GraphFile()
    source, output = graph.input((1, 3)), graph.tensor((1, 3))
    graph.add("ADD", [source, graph.constant([2.0])], [output], "AddOptions")
    graph.subgraph(*_branch(5.0))
    graph.subgraph(*_branch(7.0))
    last = GraphFile()
    given, chosen = last.input((1, 3)), last.tensor((1, 3))
    first, condition = last.tensor((1,)), last.tensor((1,), "bool")
    axes = last.constant([0, 1], "int32")
    last.add("SUM", [given, axes], [first], "ReducerOptions")
    last.add("LESS", [first, last.constant([0.0])], [condition])
    fields = {"thenSubgraphIndex": 0, "elseSubgraphIndex": 2}
    last.add("IF", [condition, given], [chosen], "IfOptions", **fields)
    graph.subgraph(last, chosen)
    model = graph.model(output)
    model.signatureDefs = [
        _signature(key, number, graph.inputs[0], outputs)
        for key, number, graph, outputs in (
            ("add", 0, graph, output),
            ("mul", 1, graph.others[0], 1),
            ("choose", 3, last, chosen),
        )
    ]
    return model


def _signature(key: str, graph: int, source: int, output: int) -> Any:
    found = schema.SignatureDefT()
    found.signatureKey, found.subgraphIndex = key, graph
    found.inputs, found.outputs = [_named("x", source)], [_named("y", output)]
    return found


def _named(name: str, index: int) -> Any:
    found = schema.TensorMapT()
    found.name, found.tensorIndex = name, index
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "model.tflite"
    found.write_bytes(packed(_model()))
    return found


@pytest.mark.parametrize("key", ["add", "mul", "choose"])
@pytest.mark.parametrize("sign", [1, -1])
def test_each_signature_gives_what_litert_gives_of_it(path: Path, key: str, sign: int) -> None:
    from ai_edge_litert.interpreter import Interpreter

    found = conversion.convert(path, ReadOptions(signature=key))
    assert [info.name for info in (*found.inputs, *found.outputs)] == ["x", "y"]
    values = np.array([[1, 2, 3]], np.float32) * sign
    runner = Interpreter(model_path=str(path)).get_signature_runner(key)
    [ours] = converted(found, [values])
    np.testing.assert_array_equal(ours, runner(x=values)["y"])


def test_other_signatures_are_mentioned(path: Path) -> None:
    [note] = conversion.convert(path).notes
    assert note == "the file has other signatures, too: mul, choose (--signature)"
    [note] = conversion.convert(path, ReadOptions(signature="mul")).notes
    assert note == "the file has other signatures, too: add, choose (--signature)"


def test_a_signature_that_is_not_there_is_refused(path: Path) -> None:
    with pytest.raises(HalyardError, match="no such signature, but add, mul, choose"):
        conversion.convert(path, ReadOptions(signature="div"))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda each: setattr(each, "subgraphIndex", 9), "is of subgraph 9, of which there are 4"),
        (lambda each: setattr(each, "inputs", [_named("x", 77)]), "has tensor 77 among its inputs"),
        (lambda each: setattr(each, "outputs", [_named("y", 0)]), "has tensor 0 among its outputs"),
    ],
)
def test_signatures_that_can_not_be_are_told(spoil: Any, reason: str, tmp_path: Path) -> None:
    model = _model()
    spoil(model.signatureDefs[1])
    path = tmp_path / "model.tflite"
    path.write_bytes(packed(model))
    with pytest.raises(HalyardError, match=reason):
        conversion.convert(path)


def test_run_compares_a_signature_with_litert(path: Path, tmp_path: Path) -> None:
    """`run` reads the file that LiteRT would enter by the first graph."""
    document = tmp_path / "run.json"
    words = ["run", str(path), "--signature", "mul", "--device", "host", "--json", str(document)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    found = json.loads(document.read_text())
    assert found["model"]["signature"] == "mul"
    assert "y: max error 0" in done.output


def test_other_formats_have_no_signatures(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"x")
    with pytest.raises(HalyardError, match=r"--signature a is for \.tflite and \.task files"):
        conversion.convert(path, ReadOptions(signature="a"))
    done = CliRunner().invoke(cli, ["run", "mobilenet_v2", "--signature", "a"])
    assert done.exit_code == 2


# ---- files of several models --------------------------------------------------------------------


def _zip(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return content.getvalue()


def _tanh() -> bytes:
    graph = GraphFile()
    source, output = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("TANH", [source], [output])
    return graph.content(output)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "two.task"
    inner = _zip({"detector.tflite": _tanh()})
    entries = {"landmarks.tflite": packed(_model()), "inner.task": inner, "labels.txt": b"cat"}
    path.write_bytes(_zip(entries))
    return path


def test_a_task_lists_its_models(task: Path) -> None:
    wanted = "the models in this file are landmarks.tflite, inner.task/detector.tflite; --member"
    with pytest.raises(HalyardError, match=wanted):
        conversion.convert(task)
    with pytest.raises(HalyardError, match="--member x: the models in this file are landmarks"):
        conversion.convert(task, ReadOptions(member="x"))


def test_a_task_gives_one_of_its_models(task: Path, tmp_path: Path) -> None:
    found = conversion.convert(task, ReadOptions(member="inner.task/detector.tflite"))
    assert found.source.reference == _tanh()
    done = CliRunner().invoke(
        cli, ["run", str(task), "--member", "inner.task/detector.tflite", "--device", "host"]
    )
    assert done.exit_code == 0, done.output
    assert "agreement  with LiteRT" in done.output
    found = conversion.convert(task, ReadOptions(signature="mul", member="landmarks.tflite"))
    assert found.inputs[0].name == "x"


def test_the_only_model_of_a_task_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "one.task"
    path.write_bytes(_zip({"model.tflite": _tanh()}, zipfile.ZIP_DEFLATED))
    benchmark_model = FileModel(path)
    assert benchmark_model.runnable.model.main.operations


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 and no more", "this is no .task file"),
        (_zip({"labels.txt": b"cat"}), "there is no model in this file"),
        (
            _zip({"zeros.tflite": bytes(2**28)}, zipfile.ZIP_DEFLATED),
            "zeros.tflite, unpacked, would come to 268435456 bytes",
        ),
    ],
)
def test_tasks_that_are_none(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.task"
    path.write_bytes(content)
    with pytest.raises(HalyardError, match=reason):
        conversion.convert(path)


def test_a_member_of_another_size_than_it_says_is_refused(tmp_path: Path) -> None:
    content = bytearray(_zip({"model.tflite": _tanh()}))
    at = content.index(b"PK\x01\x02")
    content[at + 24 : at + 28] = (2**16).to_bytes(4, "little")
    path = tmp_path / "bad.task"
    path.write_bytes(bytes(content))
    with pytest.raises(HalyardError, match=r"has not the 65536 bytes|can't be unpacked"):
        conversion.convert(path)


def test_a_member_of_a_single_model_is_refused(path: Path) -> None:
    with pytest.raises(HalyardError, match=r"--member a is for \.task files, of several models"):
        conversion.convert(path, ReadOptions(member="a"))
