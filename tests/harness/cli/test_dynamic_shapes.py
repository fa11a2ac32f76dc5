# SPDX-License-Identifier: Apache-2.0
"""One prepared model in several shapes: what the driver computes with dimensions that it infers is
what the file's own engine computes of it in each shape."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import ModelProto

pytest.importorskip("onnxruntime")
pytest.importorskip("ai_edge_litert.interpreter")

from halyard.benchmark_model import DynamicModel, FileModel
from halyard.cli.program import cli
from halyard.errors import HalyardError
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import Shapes
from halyard.proto import halyard_pb2 as pb
from halyard.transport.hal_version import lowest_version
from tests.harness.on_parts import original
from tests.harness.onnx.test_onnx_shapes import attention, convolution
from tests.harness.onnx_models import Graph
from tests.harness.tflite.test_tflite_shapes import any_image, in_parts
from tests.harness.tflite.test_tflite_shapes import written as written_tflite


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, words)))


def written(model: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def perceptron() -> ModelProto:
    """A batch that goes through a RESHAPE, whose extents are constants of NNAPI's."""
    g = Graph()
    x = g.op("Gemm", g.input("x", ("batch", 6)), g.weights(6, 8))
    x = g.op("Reshape", x, g.ints(0, 2, 4))
    x = g.op("Transpose", g.op("Relu", x), perm=[0, 2, 1])
    return g.model(g.op("Softmax", g.op("Reshape", x, g.ints(0, -1)), axis=-1))


MODELS: dict[str, tuple[Callable[[], ModelProto], list[str]]] = {
    "images": (convolution, ["--dim H=4,W=7", "--dim H=9,W=3,N=2", "--dim H=1,W=1,N=1"]),
    "sequences": (attention, ["--dim seqlen=5", "--dim seqlen=1", "--dim seqlen=17"]),
    "batches": (perceptron, ["--dim batch=3", "--dim batch=1", "--dim batch=64"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_one_prepared_model_agrees_with_onnx_runtime_in_every_shape(
    name: str, tmp_path: Path
) -> None:
    made, dims = MODELS[name]
    if name == "images":
        dims = [dims[0] + ",N=1", *dims[1:]]
    path, out = written(made(), tmp_path), tmp_path / "run.json"
    result = invoke(
        "run", path, "--device", "host", "--dynamic", "--repeat", 2, "--json", out,
        *" ".join(dims).split(),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    documents = json.loads(out.read_text())
    assert len(documents) == 3
    prepared = {document["prepare_ms"] for document in documents}
    assert len(prepared) == 1, "they were prepared once"
    counts = []
    for document in documents:
        assert document["ok"]
        assert document["model"]["dynamic"]
        assert document["agreement"]["with"] == "ONNX Runtime"
        assert document["timings_ms"]["count"] == 2
        [output] = document["agreement"]["outputs"]
        assert output["nonzero"]
        counts.append(output["elements"])
    shapes = [document["model"]["shapes"] for document in documents]
    assert sorted(shapes) == sorted([["--dim", _ordered(each)] for each in dims])
    if name != "images":
        assert len(set(counts)) == 3


def _ordered(words: str) -> str:
    return words.removeprefix("--dim ")


def test_a_tflite_file_agrees_with_litert_in_every_shape(tmp_path: Path) -> None:
    path, out = written_tflite(any_image(), tmp_path), tmp_path / "run.json"
    result = invoke(
        "run", path, "--device", "host", "--dynamic", "--repeat", 1, "--json", out,
        "--shape", "2,8,8,3", "--shape", "1,11,6,3", "--output", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    documents = json.loads(out.read_text())
    assert [each["agreement"]["with"] for each in documents] == ["LiteRT", "LiteRT"]
    assert [each["agreement"]["outputs"][0]["elements"] for each in documents] == [10, 5]
    for number, shape in ((1, (2, 5)), (2, (1, 5))):
        with np.load(tmp_path / f"out/outputs-{number}.npz") as outputs:
            assert outputs[outputs.files[0]].shape == shape


def test_only_what_differs_is_left_open(tmp_path: Path) -> None:
    path = written(attention(), tmp_path)
    benchmark_models = [
        FileModel(path, options=ReadOptions(Shapes.parse([], [f"batch=2,seqlen={length}"])))
        for length in (5, 9)
    ]
    model = DynamicModel(tuple(benchmark_models)).runnable.model
    main = model.main
    assert [list(main.operands[index].dimensions) for index in main.input_indexes] == [
        [2, 0, 8],
        [2, 0],
    ]
    assert [list(main.operands[index].dimensions) for index in main.output_indexes] == [[2, 0, 8]]
    assert lowest_version(model) >= pb.HAL_VERSION_1_2


def test_inputs_of_several_shapes_tell_them(tmp_path: Path) -> None:
    path = written(perceptron(), tmp_path)
    arrays = [np.random.default_rng(0).normal(size=(batch, 6)).astype("f4") for batch in (2, 7)]
    words = []
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
        words += ["--input", f"x={tmp_path / f'{number}.npy'}"]
    out = tmp_path / "out"
    result = invoke("run", path, "--device", "host", "--dynamic", *words, "--output", out)
    assert result.exit_code == 0, result.output
    assert "x=2,6" in result.output
    assert "x=7,6" in result.output
    for number, array in enumerate(arrays):
        with np.load(out / f"outputs-{number + 1}.npz") as found:
            [expected] = original(path, [array])
            np.testing.assert_allclose(found[found.files[0]], expected, atol=1e-6)


# ---- where an extent is needed -------------------------------------------------------------------


def refusal(benchmark_model: DynamicModel) -> str:
    with pytest.raises(HalyardError) as caught:
        _ = benchmark_model.runnable
    return str(caught.value)


def several(path: Path, *dims: str) -> DynamicModel:
    benchmark_models = [
        FileModel(path, options=ReadOptions(Shapes.parse([], [each]))) for each in dims
    ]
    return DynamicModel(tuple(benchmark_models))


def test_an_operation_that_needs_the_extent_is_named_with_what_it_needs(tmp_path: Path) -> None:
    """A RESHAPE finds one extent, and no two."""
    g = Graph()
    x = g.input("x", ("batch", "length", 4))
    path = written(g.model(g.op("Reshape", g.op("Relu", x), g.ints(0, 0, 2, 2))), tmp_path)
    assert several(path, "batch=2,length=3", "batch=2,length=5").runnable
    said = refusal(several(path, "batch=2,length=3", "batch=4,length=5"))
    assert said == (
        f"{path}: one model does not do for all of the shapes: operation 1 (RESHAPE) 'Reshape_3': "
        "its input 1 has to be a constant, and is [2, 3, 2, 2] for x=2,3,4 and [4, 5, 2, 2] for "
        "x=4,5,4"
    )


def test_other_operations_for_another_shape_are_told(tmp_path: Path) -> None:
    """SAME pads by the extent: NNAPI has no word for padding that differs on both sides here."""
    g = Graph()
    x = g.input("x", (1, 2, "H", 8))
    x = g.op("Conv", x, g.weights(2, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER")
    path = written(g.model(x), tmp_path)
    said = refusal(several(path, "H=8", "H=9"))
    assert "one model does not do for all of the shapes" in said
    assert "(PAD)" in said or "(CONV_2D)" in said


def test_a_model_in_parts_is_refused(tmp_path: Path) -> None:
    path = written_tflite(in_parts(), tmp_path)
    result = invoke(
        "run", path, "--device", "host", "--dynamic", "--shape", "t0=2,4", "--shape", "t1=2,4",
        "--shape", "t0=3,4", "--shape", "t1=3,4",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "a model that NNAPI runs whole is wanted here" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--dim batch=2", "--dynamic takes several shapes"),
        ("--dim batch=2 --dim batch=2", "--dynamic takes several shapes, and all are x=2,6"),
        (
            "--dim batch=1 --dim batch=2 --dim batch=3 --shape x=1,6 --shape x=2,6",
            "--shape: x is there 2 times and another 3 times: each once or as often",
        ),
        ("--dim batch=1 --dim batch=2 --profile", "--profile is for one shape"),
        ("--dim batch=1 --dim batch=2 --sustained 2", "--sustained is for one shape"),
        ("--dim batch=1 --dim batch=2 --hal 1.1", "needs HAL"),
    ],
)
def test_what_makes_no_sense_is_refused(words: str, reason: str, tmp_path: Path) -> None:
    path = written(perceptron(), tmp_path)
    result = invoke("run", path, "--device", "host", "--dynamic", *words.split())
    assert result.exit_code == 2
    assert reason in " ".join(result.output.replace("│", " ").split())


def test_shapes_of_a_name_said_twice_want_the_option(tmp_path: Path) -> None:
    path = written(perceptron(), tmp_path)
    result = invoke("run", path, "--device", "host", "--shape", "2,6", "--shape", "3,6")
    assert result.exit_code == 2
    assert "the input has a shape already" in " ".join(result.output.split())
    result = invoke("run", "mobilenet_v2", "--dynamic", "--shape", "1,1", "--shape", "1,2")
    assert result.exit_code == 2
    assert "--dynamic is for files" in " ".join(result.output.split())
