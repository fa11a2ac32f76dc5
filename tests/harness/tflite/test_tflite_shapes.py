# SPDX-License-Identifier: Apache-2.0
""".tflite files whose inputs are given other shapes: all else follows as in LiteRT's interpreter,
and the values are LiteRT's, which resizes the same file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.conversion import convert
from halyard.devices import open_device
from halyard.engines.halyard import HalyardDevice
from halyard.errors import HalyardError
from halyard.measurement.measurement import measure
from halyard.model import Conversion, HostPart
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import Shapes
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import weights

Made = tuple[GraphFile, list[int]]


def options(*shape: str) -> ReadOptions:
    return ReadOptions(Shapes.parse(shape, []))


def written(made: Made, folder: Path) -> Path:
    graph, outputs = made
    path = folder / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    return path


def agreeing(path: Path, *shape: str) -> Conversion:
    """The converted model, once the host driver and LiteRT have computed the same of it."""
    benchmark_model = FileModel(path, seed=2, options=options(*shape))
    with open_device("host") as device:
        measurement = measure(
            HalyardDevice(device, Target.in_process(), pb.RunOptions()), benchmark_model
        )
    assert measurement.problems == []
    assert measurement.reference.name == "LiteRT"
    assert all(each.nonzero for each in measurement.differences or [])
    assert measurement.differences
    return benchmark_model.conversion


def any_image() -> Made:
    """Convolutions and a mean over what is left of the image."""
    graph = GraphFile()
    image, narrow, mean, logits, scores = (
        graph.input((1, 6, 6, 3)),
        *(graph.tensor(shape) for shape in ((1, 3, 3, 4), (1, 4), (1, 5), (1, 5))),
    )
    filters = [graph.constant(weights(4, 3, 3, 3)), graph.constant(weights(4))]
    strides = {"strideW": 2, "strideH": 2}
    graph.add("CONV_2D", [image, *filters], [narrow], "Conv2DOptions", **strides)
    graph.add("MEAN", [narrow, graph.constant([1, 2], "int32")], [mean], "ReducerOptions")
    matrix = graph.constant(weights(5, 4))
    graph.add("FULLY_CONNECTED", [mean, matrix, -1], [logits], "FullyConnectedOptions")
    graph.add("SOFTMAX", [logits], [scores], "SoftmaxOptions", beta=1.0)
    return graph, [scores, narrow]


def flattened() -> Made:
    """As Keras flattens: SHAPE, STRIDED_SLICE, PACK, RESHAPE."""
    graph = GraphFile()
    source, shape, batch, into, flat = (
        graph.input((1, 3, 4)),
        *(
            graph.tensor(shape, kind)
            for shape, kind in (
                ((3,), "int32"),
                ((), "int32"),
                ((2,), "int32"),
                ((1, 12), "float32"),
            )
        ),
    )
    graph.add("SHAPE", [source], [shape], "ShapeOptions", outType=2)
    bounds = [graph.constant([each], "int32") for each in (0, 1, 1)]
    graph.add("STRIDED_SLICE", [shape, *bounds], [batch], "StridedSliceOptions", shrinkAxisMask=1)
    graph.add("PACK", [batch, graph.constant(-1, "int32")], [into], "PackOptions", valuesCount=2)
    graph.add("RESHAPE", [source, into], [flat], "ReshapeOptions")
    return graph, [flat]


def doubled() -> Made:
    """Its size is computed while the model runs."""
    graph = GraphFile()
    image, shape, size, twice, larger = graph.input((1, 2, 3, 1)), *(
        graph.tensor(shape, kind)
        for shape, kind in (
            ((4,), "int32"), ((2,), "int32"), ((2,), "int32"), ((1, 4, 6, 1), "float32"),
        )
    )  # fmt: skip
    graph.add("SHAPE", [image], [shape], "ShapeOptions", outType=2)
    bounds = [graph.constant([each], "int32") for each in (1, 3, 1)]
    graph.add("STRIDED_SLICE", [shape, *bounds], [size], "StridedSliceOptions")
    graph.add("MUL", [size, graph.constant([2], "int32")], [twice], "MulOptions")
    graph.add("RESIZE_BILINEAR", [image, twice], [larger], "ResizeBilinearOptions")
    return graph, [larger]


def divided() -> Made:
    """Divisors and looked-up indexes are inputs: not every number does."""
    graph = GraphFile()
    above, below = graph.input((2, 3), "int32"), graph.input((2, 3), "int32")
    quotient, rows = graph.tensor((2, 3), "int32"), graph.tensor((2, 3, 4))
    graph.add("FLOOR_DIV", [above, below], [quotient], "FloorDivOptions")
    graph.add("GATHER", [graph.constant(weights(9, 4)), above], [rows], "GatherOptions")
    one, other, whole = graph.input((2, 3)), graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("FLOOR_DIV", [one, other], [whole], "FloorDivOptions")
    return graph, [quotient, rows, whole]


def in_parts() -> Made:
    graph = GraphFile()
    x, y = graph.input((1, 4)), graph.input((1, 4))
    before, cosine, total = (graph.tensor((1, 4)) for _ in range(3))
    graph.add("TANH", [x], [before])
    graph.add("COS", [before], [cosine])
    graph.add("ADD", [cosine, y], [total], "AddOptions")
    return graph, [total]


def branching() -> Made:
    graph = GraphFile()
    x, output = graph.input((1, 3)), graph.tensor((1, 3))
    first, condition = graph.input((1,)), graph.tensor((1,), "bool")
    graph.add("LESS", [first, graph.constant([100.0])], [condition])
    numbers = []
    for kind in ("EXP", "NEG"):
        branch = GraphFile()
        source, result = branch.input((1, 3)), branch.tensor((1, 3))
        branch.add(kind, [source], [result])
        numbers.append(graph.subgraph(branch, result))
    then, otherwise = numbers
    branches = {"thenSubgraphIndex": then, "elseSubgraphIndex": otherwise}
    graph.add("IF", [condition, x], [output], "IfOptions", **branches)
    return graph, [output]


@pytest.mark.parametrize(
    ("made", "shapes", "expected"),
    [
        (any_image, ["2,6,6,3"], [(2, 5), (2, 3, 3, 4)]),
        (any_image, ["t0=3,9,14,3"], [(3, 5), (3, 5, 7, 4)]),
        (any_image, ["1,6,6,3"], [(1, 5), (1, 3, 3, 4)]),
        (flattened, ["5,3,4"], [(5, 12)]),
        (doubled, ["1,5,2,1"], [(1, 10, 4, 1)]),
        (divided, ["t0=5,3", "t1=5,3"], [(5, 3), (5, 3, 4), (2, 3)]),
        (in_parts, ["t0=3,4", "t1=3,4"], [(3, 4)]),
        (in_parts, ["t0=3,4"], [(3, 4)]),
        (branching, ["t0=4,2"], [(4, 2)]),
    ],
)
def test_all_shapes_follow_from_the_inputs(
    made: Callable[[], Made], shapes: list[str], expected: list[tuple[int, ...]], tmp_path: Path
) -> None:
    conversion = agreeing(written(made(), tmp_path), *shapes)
    assert [info.shape for info in conversion.outputs] == expected
    is_parted = any(isinstance(part, HostPart) for part in conversion.parts)
    assert is_parted == (made in (in_parts, divided))


def refusal(path: Path, *shape: str) -> str:
    with pytest.raises(HalyardError) as caught:
        convert(path, options(*shape))
    return str(caught.value)


def test_a_file_that_can_not_be_resized_says_what_litert_says(tmp_path: Path) -> None:
    graph = GraphFile()
    x, flat = graph.input((2, 6)), graph.tensor((12,))
    graph.add("RESHAPE", [x, graph.constant([12], "int32")], [flat], "ReshapeOptions")
    path = written((graph, [flat]), tmp_path)
    assert f"{path}: it can't have inputs of [3, 6], LiteRT says: " in refusal(path, "3,6")
    assert "num_input_elements != num_output_elements (18 != 12)" in refusal(path, "3,6")


def test_refuses_what_is_no_shape_of_the_input(tmp_path: Path) -> None:
    path = written(any_image(), tmp_path)
    assert refusal(path, "6,6,3") == (
        f"{path}: --shape t0=6,6,3: 3 dimensions, and the file has 't0' [1, 6, 6, 3], which are 4"
    )
    assert "it has no input 'x'; there are 't0'" in refusal(path, "x=1,6,6,3")
    assert "'t0' takes 1200000000000 bytes" in refusal(path, "1,100000,1000000,3")
    with pytest.raises(HalyardError, match="none has a name, and --shape gives them"):
        convert(path, ReadOptions(Shapes.parse([], ["batch=2"])))


def test_a_shape_that_depends_on_values_is_not_known(tmp_path: Path) -> None:
    graph = GraphFile()
    x, truth, places = (
        graph.input((2, 3)),
        graph.tensor((2, 3), "bool"),
        graph.tensor((0, 2), "int64"),
    )
    graph.add("GREATER", [x, graph.constant([[0.5]])], [truth])
    graph.add("WHERE", [truth], [places])
    path = written((graph, [places]), tmp_path)
    assert "'t2' is of shape [-1, -1]: shapes that are known only when the model runs" in refusal(
        path, "4,3"
    )


def test_the_peer_of_a_benchmark_is_resized_alike(tmp_path: Path) -> None:
    path, out = written(any_image(), tmp_path), tmp_path / "out.json"
    words = f"bench {path} --shape 2,8,8,3 --peers litert --threads 1 --runs 2 --json {out}"
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 0, result.output
    [found] = json.loads(out.read_text())["results"]
    for engine in ("halyard", "litert"):
        assert found["engines"][engine]["agreement"][0]["exact_share"] is not None
    assert not found["engines"]["litert"]["failed"]


def test_a_side_that_runs_the_file_is_resized_alike(tmp_path: Path) -> None:
    path = written(any_image(), tmp_path)
    words = f"compare litert CpuRef {path} --shape 2,8,8,3 --isolate"
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 0, result.output
    assert "no layer diverges" in result.output
