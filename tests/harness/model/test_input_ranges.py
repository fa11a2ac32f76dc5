# SPDX-License-Identifier: Apache-2.0
"""Made inputs are legal for their model: indexes lie in the tables that they index, however they
get there, and lengths are no longer than what they measure."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

pytest.importorskip("onnxruntime")
pytest.importorskip("ai_edge_litert.interpreter")

from halyard.benchmark_model import FileModel
from halyard.model import ModelBuilder, RunnableModel, TensorType
from halyard.model.input_ranges import CAREFUL, FREE, Range, Use, of_model, ranges
from halyard.proto import halyard_pb2 as pb
from tests.harness.on_parts import original
from tests.harness.onnx_models import Graph
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import weights

_INT64, _FLOAT = TensorProto.INT64, TensorProto.FLOAT


# ---- through a graph -----------------------------------------------------------------------------


def test_what_indexes_is_followed_to_the_input() -> None:
    uses = {
        "ids": [Use(carries=("shifted",), offset=2), Use(computes=("mask",))],
        "shifted": [Use(asks=Range(0, 9)), Use(asks=Range(-20, 7))],
        "mask": [],
    }
    assert ranges(["ids"], uses) == {"ids": Range(-2, 5)}


def test_what_is_computed_from_an_input_and_indexes_leaves_it_careful() -> None:
    indexing = [Use(asks=Range(0, 9))]
    assert ranges(["x"], {"x": [Use(computes=("y",))], "y": indexing}) == {"x": CAREFUL}
    assert ranges(["x"], {"x": [Use()]}) == {"x": CAREFUL}
    assert ranges(["x"], {"x": [Use(computes=("y",))], "y": [Use(carries=("x",))]}) == {"x": FREE}
    nothing = {"x": [Use(asks=Range(0, 1)), Use(asks=Range(3, 4))]}
    assert ranges(["x"], nothing) == {"x": CAREFUL}


def test_a_graph_of_very_many_ways_ends() -> None:
    """Each value is handed on as it is and with more added: 2^n sums of n values."""
    uses = {
        f"{number}": [
            Use(carries=(f"{number + 1}",)),
            Use(carries=(f"{number + 1}",), offset=1 << number),
        ]
        for number in range(60)
    }
    start = time.monotonic()
    assert ranges(["0"], uses) == {"0": CAREFUL}
    assert time.monotonic() - start < 20


# ---- ONNX ----------------------------------------------------------------------------------------


def _embedding(g: Graph) -> str:
    ids = g.op("Unsqueeze", g.op("Cast", g.input("x", (2, 50), TensorProto.INT32), to=_INT64),
               g.ints(0))  # fmt: skip
    return g.op("Gather", g.weights(37, 4), g.op("Reshape", ids, g.ints(-1)))


def _positions(g: Graph) -> str:
    """The first two rows are for padding, as in RoBERTa."""
    return g.op("Gather", g.weights(20, 4), g.op("Add", g.input("x", (60,), _INT64), g.ints(2)))


def _along(g: Graph) -> str:
    return g.op("GatherElements", g.weights(3, 12), g.input("x", (3, 40), _INT64), axis=1)


def _cells(g: Graph) -> str:
    return g.op("GatherND", g.weights(9, 14, 2), g.input("x", (50, 2), _INT64))


def _classes(g: Graph) -> str:
    ends = g.constant([0.0, 1.0])
    return g.op("OneHot", g.input("x", (40,), _INT64), g.constant(13, "i8"), ends)


def _lengths(g: Graph) -> str:
    sequence = g.op("Relu", g.input("y", (6, 30, 2)))
    return g.op("ReverseSequence", sequence, g.input("x", (30,), _INT64), time_axis=0, batch_axis=1)


def _divisors(g: Graph) -> str:
    return g.op("Div", g.input("y", (40,), _INT64), g.input("x", (40,), _INT64))


def _real(g: Graph) -> str:
    """As Keras exports: indexes come in as real numbers."""
    return g.op("Gather", g.weights(25, 3), g.op("Cast", g.input("x", (50,), _FLOAT), to=_INT64))


ONNX: dict[Callable[[Graph], str], Range] = {
    _embedding: Range(0, 36),
    _positions: Range(-2, 17),
    _along: Range(0, 11),
    _cells: Range(0, 8),
    _classes: Range(0, 12),
    _lengths: Range(1, 6),
    _divisors: Range(1, 9),
    _real: Range(0, 24),
}


@pytest.mark.parametrize("made", ONNX, ids=lambda made: made.__name__[1:])
def test_onnx_runtime_takes_what_is_made(made: Callable[[Graph], str], tmp_path: Path) -> None:
    """All of the range is reached, and nothing beyond it."""
    g = Graph()
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(made(g)).SerializeToString())
    benchmark_model = FileModel(path, seed=3)
    conversion = benchmark_model.conversion
    assert conversion.ranges["x"] == ONNX[made]
    # As the file has them, and as NNAPI's part has.
    model = RunnableModel(
        "", pb.Model(), conversion.inputs, conversion.outputs, ranges=conversion.ranges
    )
    arrays = model.input_arrays(3)
    values = arrays[[info.name for info in conversion.inputs].index("x")]
    wanted = ONNX[made]
    assert values.min() >= wanted.first
    assert values.max() <= wanted.last
    assert len(np.unique(values)) > 0.5 * (wanted.last - wanted.first + 1)
    assert all(np.isfinite(each).all() for each in original(path, arrays))


def test_a_branch_reads_the_values_around_it(tmp_path: Path) -> None:
    g = Graph()
    ids = g.input("x", (40,), _INT64)
    g.input("which", (), TensorProto.BOOL)
    inner = Graph()
    table = inner.weights(21, 3)
    rows = inner.op("Gather", table, ids)
    branch = inner.model(rows).graph
    branch.ClearField("input")
    g.op("If", "which", then_branch=branch, else_branch=branch)
    model = g.model(g.nodes[-1].output[0])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    from halyard.onnx.reading.input_ranges import ranges_of
    from halyard.onnx.reading.network import network_of

    assert ranges_of(network_of(model))["x"] == Range(0, 20)


def test_whole_numbers_that_index_nothing_are_more_than_two(tmp_path: Path) -> None:
    g = Graph()
    kind = TensorProto.INT32
    x = g.op("Mul", g.input("x", (200,), kind), g.constant([3], "i4"))
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Add", x, g.input("a_mask", (200,), kind))).SerializeToString())
    x_values, mask = FileModel(path).input_arrays()
    assert set(np.unique(x_values)) == set(range(10))
    assert set(np.unique(mask)) == {0, 1}


# ---- TFLite --------------------------------------------------------------------------------------


def _tflite_gather(g: GraphFile) -> int:
    ids = g.input((40,), "int32")
    turned, rows = g.tensor((5, 8), "int32"), g.tensor((3, 5, 8))
    g.add("RESHAPE", [ids, g.constant([5, 8], "int32")], [turned], "ReshapeOptions")
    g.add("GATHER", [g.constant(weights(3, 23)), turned], [rows], "GatherOptions", axis=1)
    return rows


def _tflite_lookup(g: GraphFile) -> int:
    rows = g.tensor((40, 3))
    g.add("EMBEDDING_LOOKUP", [g.input((40,), "int32"), g.constant(weights(17, 3))], [rows])
    return rows


def _tflite_one_hot(g: GraphFile) -> int:
    parameters = [g.constant(11, "int32"), g.constant(1.0), g.constant(0.0)]
    hot, more = g.tensor((40, 11)), g.tensor((40, 11))
    g.add("ONE_HOT", [g.input((40,), "int32"), *parameters], [hot], "OneHotOptions", axis=-1)
    g.add("TANH", [hot], [more])
    return more


def _tflite_cells(g: GraphFile) -> int:
    """On the host, as ONE_HOT."""
    found, more = g.tensor((40,)), g.tensor((40,))
    g.add(
        "GATHER_ND", [g.constant(weights(6, 9)), g.input((40, 2), "int32")], [found],
        "GatherNdOptions",
    )  # fmt: skip
    g.add("TANH", [found], [more])
    return more


@pytest.mark.parametrize(
    ("made", "last"),
    [(_tflite_gather, 22), (_tflite_lookup, 16), (_tflite_one_hot, 10), (_tflite_cells, 5)],
)
def test_litert_takes_what_is_made(
    made: Callable[[GraphFile], int], last: int, tmp_path: Path
) -> None:
    g = GraphFile()
    output = made(g)
    path = tmp_path / "model.tflite"
    path.write_bytes(g.content(output))
    benchmark_model = FileModel(path, seed=3)
    assert list(benchmark_model.conversion.ranges.values()) == [Range(0, last)]
    [values] = benchmark_model.input_arrays()
    assert 0 <= values.min() < last / 3
    assert 2 * last / 3 < values.max() <= last


# ---- NNAPI ---------------------------------------------------------------------------------------


def test_a_model_without_a_file_tells_itself() -> None:
    builder = ModelBuilder("lookup")
    ids = builder.input("ids", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (40,)))
    other = builder.input("other", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (40,)))
    table = builder.constant(
        "table", TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (19, 3)), weights(19, 3)
    )
    rows = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (40, 3))
    looked = builder.operation_n(
        pb.OPERATION_TYPE_EMBEDDING_LOOKUP, [ids, table], [("looked", rows)]
    )
    axis = builder.scalar(pb.OPERAND_TYPE_INT32, 0)
    taken = builder.operation_n(pb.OPERATION_TYPE_GATHER, [table, axis, other], [("taken", rows)])
    model = builder.build([*looked, *taken])
    assert of_model(model) == {"ids": Range(0, 18), "other": Range(0, 18)}
    values, _ = RunnableModel.of(model).input_arrays(0)
    assert values.max() > 1
