# SPDX-License-Identifier: Apache-2.0
"""Convolutions and poolings of signals, (N, C, L), agree with ONNX Runtime, and what lies between
them costs no transposes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from halyard import onnx
from halyard.model import Conversion
from tests.harness.on_parts import converted, counted, inputs_for, operations, original, problems
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

Build = Callable[[Graph], str]
SIGNAL = (2, 4, 11)


def x(g: Graph) -> str:
    return g.input("x", SIGNAL)


def conv(*shape: int, **attributes: object) -> Build:
    return lambda g: g.op("Conv", x(g), g.weights(*shape), g.weights(shape[0]), **attributes)


def held(g: Graph) -> str:
    """A signal whose channels are last."""
    return g.op("Conv", x(g), g.weights(4, 4, 1))


def transposed(*shape: int, **attributes: object) -> Build:
    return lambda g: g.op(
        "ConvTranspose", x(g), g.weights(*shape), g.weights(shape[1]), **attributes
    )


def after(kind: str, *constants: object, **attributes: object) -> Build:
    def build(g: Graph) -> str:
        given = [
            g.constant(each, "f4" if np.asarray(each).dtype.kind == "f" else "i8")
            for each in constants
        ]
        return g.op(kind, held(g), *given, **attributes)

    return build


CASES: dict[str, Build] = {
    "conv": conv(5, 4, 3),
    "conv_padded": conv(5, 4, 3, pads=[2, 1], strides=[2]),
    "conv_dilated": conv(5, 4, 3, dilations=[2], kernel_shape=[3]),
    "conv_grouped": conv(6, 2, 3, group=2),
    "conv_depthwise": conv(8, 1, 3, group=4, pads=[1, 1]),
    "conv_same_upper": conv(5, 4, 4, auto_pad="SAME_UPPER", strides=[2]),
    "conv_same_lower": conv(5, 4, 4, auto_pad="SAME_LOWER"),
    "conv_relu": lambda g: g.op("Relu", conv(5, 4, 3)(g)),
    "conv_normalised": lambda g: g.op("BatchNormalization", conv(5, 4, 3)(g), g.factors(5),
                                      g.weights(5), g.weights(5), g.factors(5)),
    "conv_transposed": transposed(4, 3, 3, strides=[2], pads=[1, 1], output_padding=[1]),
    "conv_transposed_to_a_shape": transposed(4, 3, 3, strides=[2], output_shape=[22]),
    "conv_transposed_same": transposed(4, 3, 4, strides=[2], auto_pad="SAME_LOWER"),
    "max_pool": lambda g: g.op("MaxPool", x(g), kernel_shape=[3], strides=[2], pads=[1, 0]),
    "max_pool_ceil": lambda g: g.op("MaxPool", x(g), kernel_shape=[2], strides=[2], ceil_mode=1),
    "average_pool": lambda g: g.op("AveragePool", x(g), kernel_shape=[3], pads=[1, 1]),
    "average_pool_counting": lambda g: g.op(
        "AveragePool", x(g), kernel_shape=[3], pads=[1, 1], count_include_pad=1),
    "global_average_pool": lambda g: g.op("GlobalAveragePool", x(g)),
    "global_max_pool": lambda g: g.op("GlobalMaxPool", held(g)),
    "batch_normalisation": lambda g: g.op("BatchNormalization", g.op("Sigmoid", held(g)),
                                          g.factors(4), g.weights(4), g.weights(4), g.factors(4)),
    "instance_normalisation": lambda g: g.op(
        "InstanceNormalization", held(g), g.factors(4), g.weights(4)),
    "tanh": after("Tanh"),
    "scaled_by_channel": after("Mul", [[0.5], [1.0], [2.0], [3.0]]),
    "scaled_by_place": after("Mul", np.linspace(0, 1, 11)),
    "scaled_by_number": after("Add", 0.5),
    "scaled_by_an_image": after("Add", np.ones((1, 2, 4, 11)).tolist()),
    "sum_of_two": lambda g: (lambda y: g.op("Add", y, g.op("Relu", y)))(held(g)),
    "sum_with_an_input": lambda g: g.op("Add", held(g), g.input("y", (4, 11))),
    "sum_with_a_signal": lambda g: g.op("Add", held(g), g.input("y", (2, 1, 11))),
    "softmax_of_channels": after("Softmax", axis=1),
    "softmax_of_places": after("Softmax", axis=2),
    "mean_of_places": after("ReduceMean", axes=[2], keepdims=0),
    "mean_of_places_kept": after("ReduceMean", axes=[2]),
    "mean_of_channels": after("ReduceMean", axes=[1], keepdims=0),
    "mean_of_batches": after("ReduceMean", axes=[0], keepdims=0),
    "mean_of_two": after("ReduceMax", axes=[1, 2], keepdims=0),
    "concat": lambda g: (lambda y: g.op("Concat", y, g.op("Neg", y), axis=1))(held(g)),
    "concat_with_constant": lambda g: g.op("Concat", held(g), g.weights(2, 4, 3), axis=2),
    "split": lambda g: g.op("Mul", *g.ops("Split", held(g), outputs=2, axis=1)),
    "slice": after("Slice", [1, 2], [4, 9], [1, 2]),
    "slice_by_two": after("Slice", [0], [11], [2], [2]),
    "pad": after("Pad", [0, 1, 2, 0, 0, 3]),
    "pad_by_reflection": after("Pad", [0, 0, 2, 0, 0, 3], mode="reflect"),
    "turned": after("Transpose", perm=[0, 2, 1]),
    "turned_otherwise": after("Transpose", perm=[2, 0, 1]),
    "flattened": after("Flatten"),
    "gathered": after("Gather", [1, 0, 3], axis=1),
    "tiled": after("Tile", [1, 2, 1]),
    "prelu": after("PRelu", [[0.1], [0.2], [0.3], [0.4]]),
    "where": lambda g: (lambda y: g.op("Where", g.op("Greater", y, g.constant(0)), y,
                                       g.constant(1)))(held(g)),
    "cumsum": lambda g: g.op("CumSum", held(g), g.constant(2, "i8")),
    "an_image_of_it": lambda g: g.op(
        "Conv", g.op("Unsqueeze", held(g), g.ints(1)), g.weights(3, 1, 2, 2)),
    "from_an_image": lambda g: g.op("Conv", g.op("Squeeze", g.op(
        "Conv", g.input("x", (2, 3, 1, 9)), g.weights(4, 3, 1, 3)), g.ints(2)), g.weights(2, 4, 3)),
}  # fmt: skip


def read(g: Graph, output: str, folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(g.model(output).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


@pytest.mark.parametrize("name", CASES)
def test_operator_of_signals_agrees_with_onnx_runtime(name: str, tmp_path: Path) -> None:
    g = Graph(len(name))
    conversion, path = read(g, CASES[name](g), tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    assert problems(conversion, path) == []


def test_layers_of_signals_are_transposed_at_the_ends_alone(tmp_path: Path) -> None:
    g = Graph(2)
    y = g.input("x", SIGNAL)
    for _ in range(4):
        z = g.op("Conv", y, g.weights(4, 4, 3), g.weights(4), pads=[1, 1])
        z = g.op("Mul", g.op("Sigmoid", z), g.weights(4, 1))
        y = g.op("Relu", g.op("Add", y, z))
    y = g.op("MaxPool", y, kernel_shape=[2], strides=[2])
    conversion, path = read(g, y, tmp_path)
    assert counted(operations(conversion))["TRANSPOSE"] == 2
    assert problems(conversion, path) == []


def test_8_bit_layers_of_signals_agree_within_a_step(tmp_path: Path) -> None:
    g = Graph(4)
    y = g.requantized(x(g), 0.02, 3, "i1")
    for _ in range(2):
        w, scales = g.quantized_weights(4, 4, 3)
        y = g.op("Conv", y, w, g.quantized_bias(4, 0.02, scales), pads=[1, 1])
        y = g.requantized(g.op("Relu", y), 0.02, 3, "i1")
    y = g.requantized(g.op("MaxPool", y, kernel_shape=[2]), 0.02, 3, "i1")
    conversion, path = read(g, y, tmp_path)
    names = counted(operations(conversion))
    assert (names["CONV_2D"], names["MAX_POOL_2D"], names["DEQUANTIZE"]) == (2, 1, 1)
    inputs = inputs_for(conversion.inputs)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        assert np.rint(np.abs(wanted - found).max() / 0.02) <= 1


@pytest.mark.parametrize("kind", ["Conv", "MaxPool", "GlobalAveragePool"])
def test_volumes_say_why_they_are_not_mapped(kind: str, tmp_path: Path) -> None:
    g = Graph()
    data = g.input("x", (1, 2, 3, 4, 5))
    more = {"Conv": [g.weights(2, 2, 1, 1, 1)]}.get(kind, [])
    given = {"MaxPool": {"kernel_shape": [1, 2, 2]}}.get(kind, {})
    conversion, path = read(g, g.op(kind, data, *more, **given), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its input has 5 dimensions, and NNAPI's images have 4, signals among them 3"
    ]
    assert problems(conversion, path) == []
