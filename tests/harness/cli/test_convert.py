# SPDX-License-Identifier: Apache-2.0
"""halyard convert: a model's file in other forms."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import records
from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.model import ModelBuilder, NnapiPart, TensorType
from halyard.model.dot import dot
from halyard.model.listing import listing
from halyard.model.wire import is_cut_off
from halyard.proto import halyard_pb2 as pb
from halyard.records.convert import Convert
from tests.harness.onnx_models import Graph
from tests.harness.tflite.test_tflite_parts import mixed
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import per_channel

# A line of the graph's text: a node, an edge, or what holds some.
_DOT_LINE = re.compile(
    r'^\s*(digraph "([^"\\]|\\.)*" \{|subgraph \w+ \{|\}|(node|edge) \[[\w= ]+\]'
    r'|label="([^"\\]|\\.)*"|\w+ \[[\w= ]*label="([^"\\]|\\.)*"\]'
    r'|\w+ -> \w+( \[label="([^"\\]|\\.)*"\])?)$'
)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["convert", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _written(tmp_path / "model.tflite", *per_channel())


@pytest.fixture
def mixed_file(tmp_path: Path) -> Path:
    return _written(tmp_path / "mixed.tflite", *mixed())


def _written(path: Path, graph: GraphFile, outputs: list[int]) -> Path:
    path.write_bytes(graph.content(*outputs))
    return path


def test_a_file_of_its_own_is_the_same_model(file: Path, tmp_path: Path) -> None:
    result = invoke(file, "-o", tmp_path / "model.pb")
    assert result.exit_code == 0, result.output
    assert "TFLite, needs HAL 1.3" in result.output
    before, after = FileModel(file).runnable, FileModel(tmp_path / "model.pb").runnable
    assert before.model == after.model
    assert before.inputs == after.inputs


def test_parts_have_their_numbers_in_their_names(mixed_file: Path, tmp_path: Path) -> None:
    result = invoke(mixed_file, "-o", tmp_path / "out.pb")
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in tmp_path.glob("out*"))
    assert names == ["out.1.pb", "out.2.tflite", "out.3.pb"]
    assert "unmapped   2 COS 't4': NNAPI has no such operation" in result.output
    assert FileModel(tmp_path / "out.2.tflite").conversion.unmapped, "it is the host's part"
    assert FileModel(tmp_path / "out.1.pb").runnable.model.main.operations


def test_strict_fails_and_writes_nothing(mixed_file: Path, tmp_path: Path) -> None:
    result = invoke(mixed_file, "--strict", "-o", tmp_path / "out.pb")
    assert result.exit_code == 1
    assert "4 operators have no mapping to NNAPI" in result.output
    assert not list(tmp_path.glob("out*"))


def test_the_json_says_what_runs_where(mixed_file: Path, tmp_path: Path) -> None:
    assert invoke(mixed_file, "--json", tmp_path / "out.json").exit_code == 0
    [document] = records.decode((tmp_path / "out.json").read_bytes(), Convert)
    assert [part.runs_on for part in document.parts] == ["NNAPI", "host", "NNAPI"]
    assert document.parts[0].operations == ["TANH", "LOGISTIC"]
    assert [each.operator for each in document.unmapped] == document.parts[1].operations
    assert document.inputs[0].shape == [2, 8]


def test_a_text_alone_is_all_that_is_shown(file: Path) -> None:
    result = invoke(file, "--text", "-")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "model 'model'"
    assert "operation 0 CONV_2D" in lines
    assert "    padding_scheme: 1 (INT32)" in lines
    assert any(
        line.startswith("    filter: %1 't1' QUANT8_SYMM_PER_CHANNEL[8,3,3,4]") for line in lines
    )


def test_every_line_of_the_graph_is_graphvizs(mixed_file: Path, file: Path) -> None:
    for path in (mixed_file, file):
        result = invoke(path, "--graph", "-")
        assert result.exit_code == 0, result.output
        assert [line for line in result.output.splitlines() if not _DOT_LINE.match(line)] == []
    assert "cluster" not in result.output


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder in which programs are looked for."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_picture_is_drawn_by_dot(file: Path, tmp_path: Path, programs: Path) -> None:
    program = programs / "dot"
    program.write_text('#!/bin/sh\necho "$1"\n/bin/cat\n')
    program.chmod(0o755)
    for kind in ("svg", "png", "pdf"):
        drawing = tmp_path / f"graph.{kind}"
        result = invoke(file, "--graph", drawing)
        assert result.exit_code == 0, result.output
        assert drawing.read_text().startswith(f"-T{kind}\ndigraph")
    program.write_text("#!/bin/sh\necho 'no fonts' >&2\nexit 3\n")
    result = invoke(file, "--graph", tmp_path / "failed.svg")
    assert (result.exit_code, "dot failed: no fonts" in result.output) == (1, True)
    assert not (tmp_path / "failed.svg").exists()


@pytest.mark.usefixtures("programs")
def test_a_picture_without_dot_is_refused_with_the_pipe_to_type(file: Path, tmp_path: Path) -> None:
    result = invoke(file, "--graph", tmp_path / "graph.svg", "-o", tmp_path / "model.pb")
    assert result.exit_code == 1
    assert f"halyard convert {file} --graph - | dot -Tsvg >graph.svg" in result.output
    assert not (tmp_path / "model.pb").exists(), "before any work"
    assert invoke(file, "--graph", tmp_path / "graph.dot").exit_code == 0


@pytest.mark.parametrize("name", ["a.tflite", "a.onnx", "a.pt", "a.pb", "a"])
def test_an_empty_file_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    result = invoke(tmp_path / name)
    assert (result.exit_code, f"{name}: the file is empty" in result.output) == (1, True)


def _whole(kind: str) -> bytes:
    if kind == "tflite":
        graph, outputs = per_channel()
        return graph.content(*outputs)
    if kind == "onnx":
        g = Graph()
        model = g.model(g.op("MatMul", g.input("x", (2, 5)), g.weights(5, 40)))
        return bytes(model.SerializeToString())
    if kind == "pt":
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("model/data.pkl", bytes(1000))
        return archive.getvalue()
    return _model(7).SerializeToString()


@pytest.mark.parametrize("kind", ["tflite", "onnx", "pt", "pb"])
def test_a_file_that_is_cut_off_is_told_so(kind: str, tmp_path: Path) -> None:
    content = _whole(kind)
    path = tmp_path / f"model.{kind}"
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(content[: int(share * len(content))])
        result = invoke(path)
        assert result.exit_code == 1
        assert "it is cut off" in result.output, (share, result.output)


@pytest.mark.parametrize(
    ("content", "is_it"),
    [
        (b"", False),
        (b"\x08\x07", False),
        (b"\x0a\x02ab", False),
        (b"\x0a\x03ab", True),
        (b"\x08\x07\x0a", True),
        (b"\x08\x07\x08", True),
        (b"\x08\x80", True),
        (b"\x0d\x00\x00\x00", True),
        (b"\x09" + bytes(8), False),
        (b"\x09" + bytes(7), True),
        (b"text that is none", False),
        (b"\xff\xff\xff", False),
        (b"\x00\x00", False),
    ],
)
def test_a_message_is_cut_off_where_a_field_goes_on_behind_the_end(
    content: bytes, is_it: bool
) -> None:
    assert is_cut_off(content) == is_it


def test_one_operation_is_told_as_one(tmp_path: Path) -> None:
    g = Graph()
    path = tmp_path / "relu.onnx"
    path.write_bytes(g.model(g.op("Relu", g.input("x", (2, 5)))).SerializeToString())
    assert "NNAPI: 1 operation\n" in invoke(path).output


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"nothing")
    result = invoke(path)
    assert result.exit_code == 1
    assert "broken.tflite: this is no .tflite file" in result.output
    assert invoke(tmp_path / "missing.tflite").exit_code == 2


# ---- texts --------------------------------------------------------------------------------------


def _model(place: int, name: str = "weights") -> pb.Model:
    builder = ModelBuilder('a "model" -> with\n a name')
    vector = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (32,))
    source = builder.input('in "put" \\', vector)
    weights = np.ones(32, np.float32)
    weights[place] = 2
    inputs = [source, builder.numbers(name, weights), builder.int32(0)]
    return builder.build([builder.operation(pb.OPERATION_TYPE_ADD, inputs, "out -> put", vector)])


def test_texts_differ_where_models_do() -> None:
    """In the place of a weight that is not shown, too."""
    assert listing(_model(7)) == listing(_model(7))
    assert listing(_model(7)) != listing(_model(8))
    assert listing(_model(7)) != listing(_model(7, "others"))


def test_an_unknown_operation_is_listed_by_numbers() -> None:
    model = _model(7)
    model.main.operations[0].type = 70000
    text = listing(model)
    assert "operation 0 70000" in text
    assert "    input 1: %1 'weights' FLOAT32[32]" in text


def test_names_can_be_anything_in_a_graph() -> None:
    model = _model(7)
    part = NnapiPart(model, ('in "put" \\',), ("out -> put",))
    text = dot(model.name, [part, part])
    assert [line for line in text.splitlines() if not _DOT_LINE.match(line)] == []
