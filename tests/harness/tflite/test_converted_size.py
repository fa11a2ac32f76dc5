# SPDX-License-Identifier: Apache-2.0
"""A constant that operators share is in a converted model once, however many read it, in whatever
layout, type or quantisation: in the model's bytes, on the wire and in what converting takes.
"""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from halyard import onnx, tflite
from halyard.model import (
    Conversion,
    HostPart,
    ModelBuilder,
    NnapiPart,
    RunnableModel,
    TensorType,
)
from halyard.proto import halyard_pb2 as pb
from tests.harness.onnx_models import Graph
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert, weights

# Bytes of an operation and its own operands in a message, and small constants.
_PER_USE = 600

SIZE = 64

Layer = Callable[[Graph, str, str], str]


def _quantized(g: Graph, x: str, w: str) -> str:
    return g.requantized(g.op("MatMul", g.requantized(x, 0.02, 3, "i1"), w), 0.02, 3, "i1")


IMAGE = (1, SIZE, 5, 4)
DENSE = (3, SIZE)
LAYERS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Layer]] = {
    "matmul": (DENSE, (SIZE, SIZE), lambda g, x, w: g.op("MatMul", x, w)),
    "gemm": (DENSE, (SIZE, SIZE), lambda g, x, w: g.op("Gemm", x, w, alpha=0.5, transB=1)),
    "conv": (IMAGE, (SIZE, SIZE, 3, 3), lambda g, x, w: g.op("Conv", x, w, pads=[1, 1, 1, 1])),
    "conv_transposed": (
        IMAGE,
        (SIZE, SIZE, 3, 3),
        lambda g, x, w: g.op("ConvTranspose", x, w, pads=[1, 1, 1, 1]),
    ),
    "conv_of_a_batch_normalisation": (
        IMAGE,
        (SIZE, SIZE, 1, 1),
        lambda g, x, w: g.op(
            "BatchNormalization", g.op("Conv", x, w), *[g.constant(np.ones(SIZE))] * 4
        ),
    ),
    "table": (DENSE, (3, 20 * SIZE), lambda g, x, w: g.op(
        "Slice", g.op("Mul", g.op("Tile", x, g.ints(1, 20)), w), g.ints(0), g.ints(SIZE),
        g.ints(1))),
    "table_in_both_layouts": (IMAGE, (1, SIZE, 5, 4), lambda g, x, w: g.op(
        "Mul", g.op("Transpose", g.op("Mul", g.op("MaxPool", x, kernel_shape=[1, 1]), w),
                    perm=[0, 1, 2, 3]), w)),
    "truth_table": (DENSE, (3, SIZE), lambda g, x, w: g.op("Where", g.op("Greater", x, w), x, w)),
}  # fmt: skip


def _tied(name: str, times: int, folder: Path) -> tuple[Conversion, int]:
    """Layers that share their weights, and what the file takes."""
    data, shape, layer = LAYERS[name]
    g = Graph(3)
    x, w = g.input("x", data), g.weights(*shape)
    for _ in range(times):
        x = g.op("Relu", layer(g, x, w))
    path = folder / "tied.onnx"
    path.write_bytes(g.model(x).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), 4 * int(np.prod(shape))


@pytest.mark.parametrize("name", LAYERS)
def test_a_constant_used_many_times_adds_its_bytes_once(name: str, tmp_path: Path) -> None:
    few, constant = _tied(name, 1, tmp_path)
    many, _ = _tied(name, 20, tmp_path)
    assert few.unmapped == many.unmapped == ()
    assert RunnableModel.of(few.model).constant_bytes >= constant
    added = RunnableModel.of(many.model).constant_bytes - RunnableModel.of(few.model).constant_bytes
    assert added <= 19 * _PER_USE, f"{added} bytes more, and the constant has {constant}"


def test_quantised_weights_that_are_shared_are_there_once(tmp_path: Path) -> None:
    sizes = []
    for times in (1, 20):
        g = Graph(5)
        x = g.input("x", (3, SIZE))
        w, _ = g.quantized_weights(SIZE, SIZE, axis=1)
        for _ in range(times):
            x = _quantized(g, x, w)
        path = tmp_path / "tied.onnx"
        path.write_bytes(g.model(x).SerializeToString())
        conversion = onnx.read_conversion(path.read_bytes(), path)
        assert conversion.unmapped == ()
        sizes.append(RunnableModel.of(conversion.model).constant_bytes)
    assert sizes[0] >= SIZE * SIZE
    assert sizes[1] - sizes[0] <= 19 * _PER_USE


def test_constants_of_one_weight_are_one_operand(tmp_path: Path) -> None:
    many, _ = _tied("conv", 20, tmp_path)
    convolutions = [
        each for each in many.model.main.operations if each.type == pb.OPERATION_TYPE_CONV_2D
    ]
    assert len(convolutions) == 20
    assert len({operation.inputs[1] for operation in convolutions}) == 1


def test_a_file_of_shared_weights_crosses_in_its_own_size(tmp_path: Path) -> None:
    """A bundle holds it as the message."""
    many, constant = _tied("conv", 20, tmp_path)
    assert constant < many.model.ByteSize() < constant + 20 * _PER_USE


def test_each_part_has_a_shared_constant_once(tmp_path: Path) -> None:
    g = Graph(3)
    x, w = g.input("x", DENSE), g.weights(SIZE, SIZE)
    for number in range(20):
        x = g.op("Relu", g.op("MatMul", x, w))
        if number % 10 == 0:
            x = g.op("Hardmax", x)
    path = tmp_path / "tied.onnx"
    path.write_bytes(g.model(x).SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    constant = 4 * SIZE * SIZE
    own = [part for part in conversion.parts if isinstance(part, NnapiPart)]
    assert len(own) == 3
    for part in own:
        assert part.model.ByteSize() < constant + 20 * _PER_USE
    # The host's read none of it.
    assert all(len(p.content) < 2000 for p in conversion.parts if isinstance(p, HostPart))
    assert conversion.model.ByteSize() < constant + 20 * _PER_USE


def test_converting_takes_memory_for_each_constant_not_for_each_use(tmp_path: Path) -> None:
    data, _, layer = LAYERS["matmul"]
    size = 600
    g = Graph(3)
    x, w = g.input("x", (data[0], size)), g.weights(size, size)
    for _ in range(40):
        x = g.op("Relu", layer(g, x, w))
    path = tmp_path / "tied.onnx"
    path.write_bytes(g.model(x).SerializeToString())
    content = path.read_bytes()
    onnx.read_conversion(content, path)
    tracemalloc.start()
    onnx.read_conversion(content, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # As the file has it, as an array, transposed, and in the pool.
    assert peak < 8 * 4 * size * size, f"{peak / (4 * size * size):.1f} times the constant"


def test_a_written_tflite_file_has_equal_constants_once() -> None:
    """Those of several operands too."""
    kind = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (SIZE, SIZE))
    values = weights(SIZE, SIZE)
    builder = ModelBuilder("equal")
    x = builder.input("x", kind)
    for number in range(20):
        bias = builder.numbers("bias", np.zeros(SIZE, np.float32))
        w = builder.constant(f"w{number}", kind, values)
        x = builder.operation(
            pb.OPERATION_TYPE_FULLY_CONNECTED, [x, w, bias, builder.int32(0)], "", kind
        )
    size = len(tflite.write(builder.build([x])))
    assert values.nbytes < size < values.nbytes + 20 * _PER_USE


@pytest.mark.parametrize("one_tensor", [True, False])
def test_tflite_layers_share_weights_and_buffers(one_tensor: bool, tmp_path: Path) -> None:
    """Whether the file has one tensor or several of the same bytes."""
    sizes = []
    values = weights(SIZE, SIZE)
    for times in (1, 20):
        graph = GraphFile()
        x = graph.input((3, SIZE))
        shared = graph.constant(values)
        for _ in range(times):
            w = shared if one_tensor else graph.constant(values)
            y = graph.tensor((3, SIZE))
            graph.add("FULLY_CONNECTED", [x, w], [y], "FullyConnectedOptions")
            x = y
        found = convert(graph, [x], tmp_path)
        assert not found.unmapped
        sizes.append(RunnableModel.of(found.model).constant_bytes)
    assert sizes[0] >= values.nbytes
    assert sizes[1] - sizes[0] <= 19 * _PER_USE
