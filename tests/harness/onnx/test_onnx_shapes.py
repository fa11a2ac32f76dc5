# SPDX-License-Identifier: Apache-2.0
"""ONNX files with open dimensions: they are closed as the user says, as the graph tells or as
usual, and compute what ONNX Runtime computes of inputs of those shapes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx import ModelProto, TensorProto, helper

from halyard import onnx
from halyard.cli.program import cli
from halyard.errors import HalyardError
from halyard.model import Conversion, HostPart
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import OpenDimensions, Shapes
from tests.harness.on_parts import problems
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


def read(model: ModelProto, folder: Path, *shape: str, dim: str = "") -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    options = ReadOptions(Shapes.parse(shape, [dim] if dim else []))
    return onnx.read_conversion(path.read_bytes(), path, options), path


def convolution() -> ModelProto:
    """Of images of any size; how many channels they have, its weights say."""
    g = Graph()
    x = g.op("Conv", g.input("x", ("N", "C", "H", "W")), g.weights(4, 3, 3, 3), pads=[1, 1, 1, 1])
    return g.model(g.op("GlobalAveragePool", g.op("Relu", x)))


def attention() -> ModelProto:
    """A batch of sequences, with a second input whose length hangs on the first one's."""
    g = Graph()
    x = g.input("x", ("batch", "seqlen", 8))
    mask = g.input("mask", ("batch", "seqlen"))
    scores = g.op("MatMul", x, g.op("Transpose", x, perm=[0, 2, 1]))
    scores = g.op("Add", scores, g.op("Unsqueeze", mask, g.ints(1)))
    return g.model(g.op("MatMul", g.op("Softmax", scores, axis=-1), x))


@pytest.mark.parametrize(
    ("shape", "dim", "expected"),
    [
        (["2,3,6,8"], "", (2, 3, 6, 8)),
        (["x=1,3,9,5"], "", (1, 3, 9, 5)),
        ([], "H=4,W=7", (1, 3, 4, 7)),
        ([], "N=3,H=4,W=7", (3, 3, 4, 7)),
    ],
)
def test_images_of_any_size(
    shape: list[str], dim: str, expected: tuple[int, ...], tmp_path: Path
) -> None:
    conversion, path = read(convolution(), tmp_path, *shape, dim=dim)
    assert conversion.inputs[0].shape == expected
    assert problems(conversion, path) == []


@pytest.mark.parametrize(("batch", "seqlen"), [(1, 1), (2, 5), (3, 17)])
def test_sequences_of_any_length(batch: int, seqlen: int, tmp_path: Path) -> None:
    conversion, path = read(attention(), tmp_path, dim=f"batch={batch},seqlen={seqlen}")
    assert [info.shape for info in conversion.inputs] == [(batch, seqlen, 8), (batch, seqlen)]
    assert conversion.outputs[0].shape == (batch, seqlen, 8)
    assert problems(conversion, path) == []


def test_one_message_names_the_open_dimensions_of_all_inputs(tmp_path: Path) -> None:
    with pytest.raises(OpenDimensions) as caught:
        read(attention(), tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'model.onnx'}: the extents of these dimensions are not known: 'x' [batch, "
        "seqlen, 8]: seqlen; 'mask' [batch, seqlen]: seqlen. Say them, for instance with --dim "
        "seqlen=128"
    )


def test_an_open_dimension_behind_an_unknown_operator_is_what_its_name_stands_for(
    tmp_path: Path,
) -> None:
    """Nothing is inferred there, and the file says what comes out."""
    g = Graph()
    model = g.model(g.op("Relu", g.input("x", ("batch", 4))))
    model.graph.node.append(helper.make_node("Fancy", ["Relu_1"], ["fancy"], domain="my.domain"))
    model.graph.output[0].name = "fancy"
    model.opset_import.add(domain="my.domain", version=1)
    conversion, _ = read(model, tmp_path, dim="batch=6")
    assert conversion.outputs[0].shape == (6, 4)
    assert [each.operator for each in conversion.unmapped] == ["1 my.domain::Fancy ''"]


@pytest.mark.parametrize("word", ["?", "-1", "*", "None", "unknown", "_"])
def test_what_says_nothing_is_no_name(word: str, tmp_path: Path) -> None:
    """Several dimensions of an input, and of what the file says of other values, are called so."""
    g = Graph()
    x = g.op("Conv", g.input("x", (word, 3, word, word)), g.weights(4, 3, 1, 1))
    model = g.model(g.op("GlobalAveragePool", x))
    shape = helper.make_tensor_value_info(x, TensorProto.FLOAT, [word, 4, word, word])
    model.graph.value_info.append(shape)
    with pytest.raises(OpenDimensions) as caught:
        read(model, tmp_path)
    assert "'x' [?, 3, ?, ?]: dimension 2 and dimension 3" in str(caught.value)
    assert caught.value.options == ("--shape", "1,3,224,224")
    conversion, path = read(model, tmp_path, "2,3,6,8")
    assert conversion.inputs[0].shape == (2, 3, 6, 8)
    assert problems(conversion, path) == []
    with pytest.raises(HalyardError, match="none has a name, and --shape gives them"):
        read(model, tmp_path, dim=f"{word}=4")


def test_shapes_that_the_graph_does_not_take_are_told_as_such(tmp_path: Path) -> None:
    g = Graph()
    model = g.model(g.op("Add", g.input("x", (1, "n")), g.weights(1, 4)))
    with pytest.raises(HalyardError, match=r"its inputs can't be 'x' \[1, 3\]: operator 0 Add"):
        read(model, tmp_path, "1,3")
    g = Graph()
    fixed = g.model(g.op("Add", g.input("x", (1, 3)), g.weights(1, 4)))
    with pytest.raises(HalyardError, match=r"operator 0 Add '\w+' contradicts itself"):
        read(fixed, tmp_path)


# ---- what the graph tells ------------------------------------------------------------------------


def _normalized() -> Graph:
    g = Graph()
    x = g.op("Transpose", g.input("x", (1, 5, ""), TensorProto.FLOAT), perm=[0, 2, 1])
    g.op("BatchNormalization", x, *(g.factors(6) for _ in range(4)))
    return g


def _product() -> Graph:
    g = Graph()
    g.op("MatMul", g.op("Relu", g.input("x", (2, ""))), g.weights(7, 3))
    return g


def _gemm() -> Graph:
    g = Graph()
    g.op("Gemm", g.input("x", (2, "")), g.weights(3, 9), transB=1)
    return g


def _grouped() -> Graph:
    g = Graph()
    g.op("Conv", g.input("x", (1, "", 4, 4)), g.weights(6, 1, 3, 3), group=6)
    return g


def _transposed() -> Graph:
    g = Graph()
    g.op("ConvTranspose", g.input("x", (1, "", 4, 4)), g.weights(6, 2, 3, 3))
    return g


def _recurrent() -> Graph:
    g = Graph()
    x = g.input("x", (3, "", ""))
    g.ops("GRU", x, g.weights(1, 12, 5), g.weights(1, 12, 4), outputs=2, hidden_size=4)
    return g


@pytest.mark.parametrize(
    ("graph", "shape"),
    [
        (_normalized, (1, 5, 6)),
        (_product, (2, 7)),
        (_gemm, (2, 9)),
        (_grouped, (1, 6, 4, 4)),
        (_transposed, (1, 6, 4, 4)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_weights_tell_an_extent(graph: object, shape: tuple[int, ...], tmp_path: Path) -> None:
    assert callable(graph)
    g = graph()
    conversion, path = read(g.model(g.nodes[-1].output[0]), tmp_path)
    assert conversion.inputs[0].shape == shape
    assert problems(conversion, path) == []


def test_weights_of_a_recurrent_network_leave_its_batch_open(tmp_path: Path) -> None:
    g = _recurrent()
    with pytest.raises(OpenDimensions, match=r"'x' \[3, \?, 5\]: dimension 1\. Say"):
        read(g.model(g.nodes[-1].output[1]), tmp_path)


def test_metadata_tell_the_size_of_an_image(tmp_path: Path) -> None:
    """As Ultralytics' exports do."""
    model = convolution()
    helper.set_model_props(model, {"imgsz": "[24, 16]"})
    conversion, path = read(model, tmp_path)
    assert conversion.inputs[0].shape == (1, 3, 24, 16)
    assert problems(conversion, path) == []
    for damaged in ("[24", '{"a": 1}', "[1, 2, 3]", "[-4, true]", "[" * 100_000):
        helper.set_model_props(model, {"imgsz": damaged})
        with pytest.raises(OpenDimensions, match="H and W"):
            read(model, tmp_path)


# ---- nothing -------------------------------------------------------------------------------------


def test_nothing_is_an_extent(tmp_path: Path) -> None:
    """A dimension of 0 in the file is one, and what has no elements runs on the host."""
    g = Graph()
    joined = g.op("Concat", g.input("past", (1, 0, 4)), g.input("x", (1, 2, 4)), axis=1)
    conversion, path = read(g.model(g.op("Relu", joined)), tmp_path)
    assert conversion.inputs[0].shape == (1, 0, 4)
    assert problems(conversion, path) == []
    with pytest.raises(HalyardError, match="the file fixes dimension 1 of 'past' to 0"):
        read(g.model(g.op("Relu", joined)), tmp_path, "past=1,3,4")


# ---- on the command line -------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(attention().SerializeToString())
    return path


def test_run_holds_it_to_onnx_runtime_in_the_same_shapes(file: Path, tmp_path: Path) -> None:
    words = f"run {file} --repeat 1 --device host --dim seqlen=9 --shape mask=2,9".split()
    result = CliRunner().invoke(cli, [*words, "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["agreement"]["with"] == "ONNX Runtime"
    assert document["agreement"]["outputs"][0]["elements"] == 2 * 9 * 8
    assert document["model"]["shapes"] == ["--shape", "mask=2,9", "--dim", "seqlen=9"]


def test_run_says_which_line_closes_what_is_open(file: Path) -> None:
    result = CliRunner().invoke(cli, ["-v", "run", str(file), "--device", "host"])
    assert result.exit_code == 1
    assert result.output.endswith(
        "'x' [batch, seqlen, 8]: seqlen; 'mask' [batch, seqlen]: seqlen. Say them, for instance "
        f"with --dim seqlen=128:\n  halyard -v run {file} --device host --dim seqlen=128\n"
    )


def test_compare_hands_the_shapes_to_both_sides(file: Path, tmp_path: Path) -> None:
    words = f"compare onnxruntime CpuRef {file} --dim batch=2,seqlen=5 --layers".split()
    result = CliRunner().invoke(cli, [*words, "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    [inputs] = document["input_sets"]
    assert inputs["outputs"][0]["statistics"]["elements"] == 2 * 5 * 8


def test_bench_hands_the_shapes_to_the_peers(file: Path, tmp_path: Path) -> None:
    words = f"bench {file} --dim seqlen=5 --peers onnxruntime --threads 1 --runs 2".split()
    result = CliRunner().invoke(cli, [*words, "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "out.json").read_text())
    [result] = document["results"]
    assert result["benchmark_model"]["shapes"] == ["--dim", "seqlen=5"]
    for engine in ("halyard", "onnxruntime"):
        assert result["engines"][engine]["agreement"], result["engines"][engine]


def test_convert_writes_the_shapes_that_are_said(file: Path, tmp_path: Path) -> None:
    arguments = ["convert", str(file), "--dim", "batch=2,seqlen=5"]
    out = tmp_path / "out.json"
    result = CliRunner().invoke(cli, [*arguments, "--json", str(out)])
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    assert [each["shape"] for each in document["inputs"]] == [[2, 5, 8], [2, 5]]
    model = tmp_path / "model.pb"
    assert CliRunner().invoke(cli, [*arguments, "-o", str(model)]).exit_code == 0
    result = CliRunner().invoke(cli, ["convert", str(model), "--shape", "x=1,5,8"])
    assert result.exit_code == 1
    assert "the file fixes dimension 0 of 'x' to 2" in result.output


def test_shapes_are_for_files() -> None:
    for command in ("run", "bench"):
        result = CliRunner().invoke(cli, [command, "mobilenet_v2", "--shape", "1,96,96,3"])
        assert result.exit_code == 2
        assert "not for models of the zoo, which have --size" in " ".join(result.output.split())


def test_settings_may_have_the_shapes(file: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("all:\n  dim: [batch=2, seqlen=5]\nconvert:\n  shape: x=2,5,8\n")
    out = tmp_path / "out.json"
    arguments = ["--settings", str(settings), "convert", str(file), "--json", str(out)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["inputs"][1]["shape"] == [2, 5]


def test_a_branch_that_is_not_taken_may_contradict_the_shapes(tmp_path: Path) -> None:
    """As of a model for two rates: a branch for frames of 6, and one for frames of 8."""
    g = Graph()
    x = g.input("x", ("n", "frame"))
    rate = g.op("ReduceMax", g.op("Abs", x), keepdims=0)
    branches = {}
    for name, length in (("then_branch", 8), ("else_branch", 6)):
        product = helper.make_node("MatMul", [x, g.weights(length, 2)], [f"{name}/y"])
        output = helper.make_empty_tensor_value_info(f"{name}/y")
        branches[name] = helper.make_graph([product], name, [], [output])
    y = g.op("If", g.op("Greater", rate, g.constant(100.0)), **branches)
    conversion, path = read(g.model(g.op("Neg", g.op("Identity", y))), tmp_path, "1,6")
    assert any(isinstance(part, HostPart) for part in conversion.parts)
    assert problems(conversion, path) == []
