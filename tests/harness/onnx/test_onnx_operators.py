# SPDX-License-Identifier: Apache-2.0
"""Each ONNX operator that is mapped, alone: the driver computes what ONNX Runtime computes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from halyard import onnx
from halyard.model import Conversion
from halyard.proto import halyard_pb2 as pb
from tests.harness.on_parts import (
    converted,
    counted,
    inputs_for,
    operations,
    original,
    problems,
)
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

Build = Callable[[Graph], str]

IMAGE = (1, 4, 9, 7)


def image(g: Graph, *shape: int) -> str:
    """One that is there with its channels last."""
    x = g.input("image", shape or IMAGE)
    return g.op("Conv", x, g.weights(4, (shape or IMAGE)[1], 1, 1))


def five(g: Graph, *shape: int) -> str:
    """Of five dimensions, some of them of one."""
    return g.op("Reshape", image(g), g.ints(*shape))


def numbers(g: Graph, *shape: int) -> str:
    return g.input("x", shape or (2, 3, 5))


def window(kind: str, **attributes: object) -> Build:
    return lambda g: g.op(kind, image(g), **attributes)


def conv(shape: tuple[int, ...], **attributes: object) -> Build:
    def build(g: Graph) -> str:
        return g.op(
            "Conv", g.input("x", IMAGE), g.weights(*shape), g.weights(shape[0]), **attributes
        )

    return build


def unary(kind: str, shape: tuple[int, ...] = (2, 3, 5), **attributes: object) -> Build:
    return lambda g: g.op(kind, g.input("x", shape), **attributes)


def positive(kind: str) -> Build:
    return lambda g: g.op(kind, g.op("Add", numbers(g), g.constant(2)))


def on_image(kind: str, *constants: object, **attributes: object) -> Build:
    """With constants of floats, or of whole numbers where they are that."""

    def build(g: Graph) -> str:
        names = ["" if each is None else g.constant(each, _kind_of(each)) for each in constants]
        return g.op(kind, image(g), *names, **attributes)

    return build


def _kind_of(values: object) -> str:
    return "f4" if np.asarray(values).dtype.kind == "f" else "i8"


def resized(mode: str, how: str, factors: tuple[float, float], **attributes: object) -> Build:
    return on_image(
        "Resize", None, [1.0, 1.0, *factors], mode=mode,
        coordinate_transformation_mode=how, **attributes,
    )  # fmt: skip


CASES: dict[str, Build] = {
    # Convolutions.
    "conv": conv((5, 4, 3, 3), pads=[1, 0, 2, 1], strides=[2, 1]),
    "conv_dilated": conv((5, 4, 3, 3), dilations=[2, 2], pads=[2, 2, 2, 2]),
    "conv_grouped": conv((6, 2, 3, 3), group=2),
    "conv_depthwise": conv((4, 1, 3, 3), group=4, pads=[1, 1, 1, 1]),
    "conv_depthwise_dilated": conv((8, 1, 3, 3), group=4, dilations=[2, 1]),
    "conv_same_upper": conv((5, 4, 2, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv_same_lower": conv((5, 4, 2, 2), auto_pad="SAME_LOWER"),
    "conv_relu": lambda g: g.op("Relu", conv((5, 4, 3, 3))(g)),
    "conv_relu1": lambda g: g.op("Clip", conv((5, 4, 3, 3))(g), g.constant(-1), g.constant(1)),
    "conv_transposed": lambda g: g.op(
        "ConvTranspose", image(g), g.weights(4, 3, 3, 3), g.weights(3), strides=[2, 2],
        pads=[1, 1, 1, 1], output_padding=[1, 1],
    ),
    "batch_normalization": lambda g: g.op(
        "BatchNormalization", g.input("x", IMAGE), g.factors(4), g.weights(4), g.weights(4),
        g.factors(4), epsilon=0.01,
    ),
    "batch_normalization_after_conv": lambda g: g.op(
        "Relu",
        g.op("BatchNormalization", conv((5, 4, 3, 3))(g), g.factors(5), g.weights(5), g.weights(5),
             g.factors(5)),
    ),
    "instance_normalization": lambda g: g.op(
        "InstanceNormalization", image(g), g.factors(4), g.weights(4)
    ),
    "layer_normalization_of_two": lambda g: g.op(
        "LayerNormalization", numbers(g), g.factors(3, 5), g.weights(3, 5), axis=1, epsilon=0.1
    ),
    # Poolings.
    "max_pool": window("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    "max_pool_ceil": window("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "average_pool": window("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "average_pool_counting": window(
        "AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "global_average_pool": window("GlobalAveragePool"),
    "global_max_pool": window("GlobalMaxPool"),
    # Products.
    "gemm": lambda g: g.op("Gemm", numbers(g, 2, 5), g.weights(5, 3), g.weights(3)),
    "gemm_scaled": lambda g: g.op(
        "Gemm", numbers(g, 2, 5), g.weights(3, 5), g.constant(0.25), alpha=0.5, beta=2.0, transB=1
    ),
    "matmul": lambda g: g.op("MatMul", numbers(g), g.weights(5, 4)),
    "matmul_bias_relu": lambda g: g.op(
        "Relu", g.op("Add", g.weights(4), g.op("MatMul", numbers(g), g.weights(5, 4)))
    ),
    "matmul_of_two": lambda g: g.op("MatMul", numbers(g, 2, 3, 4, 5), g.input("y", (2, 3, 5, 2))),
    "matmul_broadcast": lambda g: g.op("MatMul", numbers(g, 2, 3, 4, 5), g.input("y", (5, 2))),
    # Arithmetic.
    "add": lambda g: g.op("Add", numbers(g), g.input("y", (3, 1))),
    "add_relu": lambda g: g.op("Relu", g.op("Add", numbers(g), g.input("y", (3, 1)))),
    "sub_from_constant": lambda g: g.op("Sub", g.constant(1), numbers(g)),
    "mul_by_channel": lambda g: g.op("Mul", image(g), g.weights(4, 1, 1)),
    "mul_by_row": lambda g: g.op("Mul", image(g), g.weights(9, 1)),
    "div": lambda g: g.op("Div", numbers(g), g.factors(5)),
    "max_of_three": lambda g: g.op("Max", numbers(g), g.constant(0.1), g.input("y", (5,))),
    "min": lambda g: g.op("Min", numbers(g), g.constant(0.1)),
    "sum": lambda g: g.op("Sum", numbers(g), g.weights(5), g.input("y", (3, 1))),
    "mean": lambda g: g.op("Mean", numbers(g), g.weights(5), g.input("y", (3, 1))),
    "square": lambda g: g.op("Pow", numbers(g), g.constant(2)),
    "cube": lambda g: g.op("Pow", numbers(g), g.constant(3)),
    "root": lambda g: g.op("Pow", g.op("Abs", numbers(g)), g.constant(0.5)),
    "abs": unary("Abs"),
    "exp": unary("Exp"),
    "floor": unary("Floor"),
    "neg": unary("Neg"),
    "sin": unary("Sin"),
    "cos": unary("Cos"),
    "cos_of_large": lambda g: g.op("Cos", g.op("Mul", numbers(g), g.constant(1000))),
    "ceil": lambda g: g.op("Ceil", g.op("Mul", numbers(g), g.constant(4))),
    "round": lambda g: g.op("Round", g.op("Mul", numbers(g), g.constant(4))),
    "sign": lambda g: g.op("Sign", g.op("Floor", numbers(g))),
    "sign_of_an_image": on_image("Sign"),
    "log": positive("Log"),
    "sqrt": positive("Sqrt"),
    "reciprocal": positive("Reciprocal"),
    # Activations.
    "relu": unary("Relu"),
    "clip": lambda g: g.op("Clip", numbers(g), g.constant(-0.25), g.constant(0.5)),
    "clip_below": lambda g: g.op("Clip", numbers(g), g.constant(-0.25)),
    "relu6_of_an_image": lambda g: g.op("Clip", window("MaxPool", kernel_shape=[1, 1])(g),
                                        g.constant(0), g.constant(6)),
    "sigmoid": unary("Sigmoid"),
    "silu": lambda g: (lambda x: g.op("Mul", x, g.op("Sigmoid", x)))(image(g)),
    "tanh": unary("Tanh"),
    "elu": unary("Elu", alpha=0.5),
    "hard_sigmoid": unary("HardSigmoid", alpha=0.3, beta=0.4),
    "hard_swish": unary("HardSwish"),
    "hard_swish_of_parts": lambda g: (
        lambda x: g.op("Mul", x, g.op("HardSigmoid", x, alpha=1 / 6))
    )(image(g)),
    "leaky_relu": unary("LeakyRelu", alpha=0.3),
    "prelu": lambda g: g.op("PRelu", image(g), g.weights(4, 1, 1)),
    "softplus": unary("Softplus"),
    "mish": lambda g: (lambda x: g.op("Mul", x, g.op("Tanh", g.op("Softplus", x))))(numbers(g)),
    "erf": lambda g: g.op("Erf", g.op("Mul", numbers(g), g.constant(4))),
    "erf_of_zero": lambda g: g.op("Erf", g.op("Mul", numbers(g), g.constant(0))),
    "softmax": unary("Softmax"),
    "softmax_of_channels": on_image("Softmax", axis=1),
    "log_softmax": unary("LogSoftmax", axis=-1),
    # Reductions.
    "reduce_mean": unary("ReduceMean", axes=[-1], keepdims=1),
    "reduce_all": unary("ReduceMean", keepdims=1),
    "reduce_mean_of_an_image": on_image("ReduceMean", axes=[2, 3], keepdims=0),
    "reduce_channels": on_image("ReduceMax", axes=[1], keepdims=1),
    "reduce_rows": on_image("ReduceMin", axes=[2], keepdims=0),
    "reduce_sum": on_image("ReduceSum", [1, 2], keepdims=0),
    "reduce_prod": unary("ReduceProd", axes=[1]),
    "reduce_l1": unary("ReduceL1", axes=[1]),
    "reduce_l1_of_an_image": on_image("ReduceL1", axes=[1], keepdims=0),
    "reduce_l2": unary("ReduceL2", axes=[1]),
    "argmax": unary("ArgMax", axis=1, keepdims=0),
    "argmin": unary("ArgMin", axis=2),
    # Operators that move elements.
    "reshape": lambda g: g.op("Reshape", numbers(g), g.ints(0, -1)),
    "flatten_an_image": on_image("Flatten"),
    "squeeze": lambda g: g.op("Squeeze", numbers(g, 2, 1, 3), g.ints(1)),
    "unsqueeze": lambda g: g.op("Unsqueeze", numbers(g), g.ints(0)),
    "transpose": unary("Transpose", perm=[2, 0, 1]),
    "transpose_an_image": on_image("Transpose", perm=[0, 2, 3, 1]),
    "transpose_rows": on_image("Transpose", perm=[0, 1, 3, 2]),
    "transpose_of_five": lambda g: g.op(
        "Flatten",
        g.op("Transpose", g.op("Reshape", image(g), g.ints(1, 2, 2, 9, 7)), perm=[0, 1, 3, 4, 2]),
    ),
    "concat_channels": lambda g: (lambda x: g.op("Concat", x, g.op("Relu", x), axis=1))(image(g)),
    "concat_with_constant": lambda g: g.op("Concat", g.weights(1, 3, 5), numbers(g), axis=0),
    "split_evenly": lambda g: g.op("Add", *g.ops("Split", image(g), outputs=2, axis=1)),
    "split_by_sizes": lambda g: g.ops("Split", image(g), g.ints(1, 3), outputs=2, axis=1)[1],
    "slice": lambda g: g.op("Slice", image(g), g.ints(1, -5), g.ints(3, 2**62), g.ints(1, 3)),
    "slice_by_two": lambda g: g.op(
        "Slice", image(g), g.ints(1, 0), g.ints(2**62, 2**62), g.ints(2, 3), g.ints(2, 2)
    ),
    "slice_backwards": lambda g: g.op(
        "Slice", numbers(g), g.ints(-1), g.ints(-(2**62)), g.ints(2), g.ints(-1)
    ),
    "gather": lambda g: g.op("Gather", numbers(g), g.constant([[0, -1], [3, 3]], "i8"), axis=2),
    "gather_one": lambda g: g.op("Gather", numbers(g), g.constant(-2, "i8"), axis=1),
    "gather_computed": lambda g: g.op("Gather", g.weights(3, 4),
                                      g.input("ids", (2, 3), TensorProto.INT64)),
    "pad": lambda g: g.op("Pad", image(g), g.ints(0, 0, 1, 2, 0, 1, 0, 1)),
    "pad_with_value": lambda g: g.op("Pad", numbers(g), g.ints(0, 1, 0, 0, 0, 2), g.constant(3)),
    "pad_by_reflection": lambda g: g.op("Pad", image(g), g.ints(0, 0, 1, 2, 0, 0, 1, 1),
                                        mode="reflect"),
    "tile": lambda g: g.op("Tile", numbers(g), g.ints(1, 2, 1)),
    "expand": lambda g: g.op("Expand", numbers(g, 3, 1), g.ints(2, 1, 4)),
    "depth_to_space": on_image("DepthToSpace", blocksize=2),
    "depth_to_space_crd": lambda g: g.op("DepthToSpace", g.input("x", (1, 8, 3, 2)), blocksize=2,
                                         mode="CRD"),
    "add_of_five": lambda g: g.op("Flatten", g.op(
        "Add", five(g, 2, 2, 1, 9, 7), g.op("Reshape", g.weights(18 * 7), g.ints(1, 2, 1, 9, 7)))),
    "mul_of_five_by_row": lambda g: g.op(
        "Flatten", g.op("Mul", five(g, 2, 1, 2, 9, 7), g.weights(9, 1))),
    "concat_of_five": lambda g: g.op("Flatten", g.op(
        "Concat", five(g, 1, 1, 4, 9, 7), g.op("Unsqueeze", g.weights(1, 4, 9, 7), g.ints(0)),
        axis=0)),
    "split_of_five": lambda g: g.op("Flatten", g.ops(
        "Split", five(g, 2, 2, 1, 9, 7), outputs=2, axis=0)[1]),
    "slice_of_five": lambda g: g.op("Flatten", g.op(
        "Slice", five(g, 2, 2, 1, 9, 7), g.ints(1, 0), g.ints(2, 9), g.ints(0, 3), g.ints(1, 2))),
    "gather_of_five": lambda g: g.op("Gather", five(g, 2, 2, 1, 9, 7), g.constant(1, "i8"), axis=0),
    "reduce_of_five": lambda g: g.op("Flatten", g.op(
        "ReduceMean", five(g, 2, 2, 1, 9, 7), axes=[0, 2], keepdims=1)),
    "output_of_five": lambda g: g.op("Relu", five(g, 2, 2, 1, 9, 7)),
    "space_to_depth": lambda g: g.op("SpaceToDepth", image(g, 1, 3, 4, 6), blocksize=2),
    "upper_triangle": unary("Trilu"),
    "lower_triangle": lambda g: g.op("Trilu", image(g), g.constant(-1, "i8"), upper=0),
    "triangle_of_all": lambda g: g.op(
        "Relu", g.op("Trilu", numbers(g), g.constant(-2, "i8"), upper=1)),
    "triangle_of_truth": lambda g: g.op("Cast", g.op(
        "Trilu", g.op("Greater", numbers(g), g.constant(0))), to=TensorProto.FLOAT),
    "where": lambda g: (
        lambda x: g.op("Where", g.op("Greater", x, g.constant(0.1)), x, g.constant(-5))
    )(numbers(g)),
    "comparison": lambda g: g.op(
        "Cast", g.op("Not", g.op("LessOrEqual", numbers(g), g.constant(0.1))), to=TensorProto.FLOAT
    ),
    "cast_to_truth": lambda g: g.op(
        "Cast", g.op("Cast", g.op("Floor", numbers(g)), to=TensorProto.BOOL), to=TensorProto.INT64
    ),
    "dropout": unary("Dropout"),
    # Images of another size.
    "resize_nearest": resized("nearest", "asymmetric", (2.0, 3.0), nearest_mode="floor"),
    "resize_nearest_halves": resized("nearest", "half_pixel", (2.0, 2.0)),
    "resize_linear": resized("linear", "asymmetric", (2.0, 2.0)),
    "resize_linear_halves": resized("linear", "pytorch_half_pixel", (3.0, 2.0)),
    "resize_linear_corners": resized("linear", "align_corners", (2.0, 2.0)),
    "resize_to_a_size": on_image(
        "Resize", None, None, [1, 4, 5, 4], mode="linear",
        coordinate_transformation_mode="half_pixel",
    ),
}  # fmt: skip


def read(g: Graph, output: str, folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(g.model(output).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


@pytest.mark.parametrize("name", CASES)
def test_operator_agrees_with_onnx_runtime(name: str, tmp_path: Path) -> None:
    g = Graph(len(name))
    conversion, path = read(g, CASES[name](g), tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    assert problems(conversion, path) == []


LARGEST = float(np.finfo(np.float32).max)
HALVES = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 8388607.5, 4194303.5]
EDGES = [*HALVES, 0.0, -0.0, 1e-40, -1e-40, 16777217.0, LARGEST, -LARGEST, np.inf, -np.inf]


@pytest.mark.parametrize("kind", ["Ceil", "Round", "Sign", "Trilu"])
def test_edges_are_those_of_onnx_runtime(kind: str, tmp_path: Path) -> None:
    values = np.tile(np.asarray(EDGES, np.float32), (3, 1))
    g = Graph()
    conversion, path = read(g, g.op(kind, g.input("x", values.shape)), tmp_path)
    assert conversion.unmapped == ()
    [wanted], [found] = original(path, [values]), converted(conversion, [values])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["Sign", "Trilu"])
def test_whole_numbers_are_mapped_too(kind: str, tmp_path: Path) -> None:
    g = Graph()
    conversion, path = read(g, g.op(kind, g.input("x", (3, 5), TensorProto.INT64)), tmp_path)
    values = np.arange(-7, 8).reshape(3, 5)
    assert conversion.unmapped == ()
    [wanted], [found] = original(path, [values]), converted(conversion, [values])
    np.testing.assert_array_equal(found, wanted)


OLD: dict[str, tuple[int, Build]] = {
    "clip_of_attributes": (6, unary("Clip", min=-0.5, max=0.25)),
    "slice_of_attributes": (9, unary("Slice", starts=[1], ends=[-1], axes=[2])),
    "split_of_attributes": (11, lambda g: g.ops("Split", numbers(g), split=[1, 2], axis=1,
                                                outputs=2)[1]),
    "squeeze_of_attributes": (11, unary("Squeeze", (2, 1, 3), axes=[1])),
    "pad_of_attributes": (9, unary("Pad", pads=[0, 1, 0, 0, 0, 2], value=0.5)),
    "reduce_sum_of_attributes": (11, unary("ReduceSum", axes=[1])),
    "softmax_of_the_last": (11, unary("Softmax", axis=2)),
    "upsample": (9, on_image("Upsample", [1.0, 1.0, 2.0, 2.0], mode="nearest")),
    # Places are rounded up where it becomes smaller, and down where larger.
    "resize_10": (10, lambda g: g.op("Resize", g.input("x", (1, 2, 7, 7)),
                                     g.constant([1.0, 1.0, 0.75, 2.0]), mode="nearest")),
}  # fmt: skip
NEW: dict[str, tuple[int, Build]] = {
    "reduce_mean_by_input": (18, lambda g: g.op("ReduceMean", numbers(g), g.ints(1))),
    "gelu": (20, lambda g: g.op("Gelu", g.op("Mul", numbers(g), g.constant(4)))),
    "gelu_by_tanh": (20, unary("Gelu", approximate="tanh")),
    # Elements taken away at one end are not wrapped to the other.
    "pad_around_what_is_left": (
        21,
        lambda g: g.op("Pad", g.input("x", (4, 5)), g.ints(1, -2, -1, 3), mode="wrap"),
    ),
    "mish_of_one": (18, lambda g: g.op("Mish", g.op("Mul", numbers(g), g.constant(100)))),
    "top_k": (17, lambda g: g.ops("TopK", numbers(g), g.ints(2), outputs=2)[0]),
    "top_k_places": (17, lambda g: g.ops("TopK", numbers(g), g.ints(2), outputs=2)[1]),
}


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_operator_of_another_version_agrees(name: str, tmp_path: Path) -> None:
    opset, build = (OLD | NEW)[name]
    g = Graph(len(name), opset)
    conversion, path = read(g, build(g), tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    assert problems(conversion, path) == []


REFUSED: dict[str, tuple[Build, str]] = {
    "conv_of_computed_filters": (
        lambda g: g.op("Conv", g.input("x", IMAGE), g.input("w", (2, 4, 3, 3))),
        "its filter is computed, and NNAPI takes a constant",
    ),
    "conv_grouped_and_dilated": (
        conv((6, 2, 3, 3), group=2, dilations=[2, 2]),
        "it has groups and is dilated, and GROUPED_CONV_2D is not",
    ),
    "pool_dilated": (
        window("MaxPool", kernel_shape=[2, 2], dilations=[2, 2]),
        "it is dilated, and NNAPI's poolings are not",
    ),
    "resize_cubic": (resized("cubic", "half_pixel", (2.0, 2.0)), "it is of mode cubic"),
    "resize_elsewhere": (
        resized("nearest", "asymmetric", (2.0, 2.0), nearest_mode="ceil"),
        "NNAPI's resizing looks at other places than asymmetric does",
    ),
    "double": (
        lambda g: g.op("Relu", g.input("x", (2, 3), TensorProto.DOUBLE)),
        "'x' is of DOUBLE, which NNAPI has not",
    ),
    "bytes_without_scale": (
        lambda g: g.op("Transpose", g.input("x", (2, 3), TensorProto.UINT8), perm=[1, 0]),
        "'x' are bytes that no operator says the scale of",
    ),
    "five_dimensions": (
        lambda g: g.op("Relu", g.input("x", (2, 2, 2, 2, 2))),
        "'x' has 5 dimensions, and NNAPI takes 4",
    ),
    "arctangent": (
        lambda g: g.op("Atan", numbers(g)),
        "NNAPI has no operation for it, and none is composed",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_mapped_says_why_and_runs_on_the_host(name: str, tmp_path: Path) -> None:
    build, reason = REFUSED[name]
    g = Graph(1)
    conversion, path = read(g, build(g), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [reason]
    assert problems(conversion, path) == []


# ---- 8 bits -------------------------------------------------------------------------------------


def steps(conversion: Conversion, path: Path) -> float:
    """How many of the output's steps it is apart from ONNX Runtime at most."""
    inputs = inputs_for(conversion.inputs)
    pairs = zip(original(path, inputs), converted(conversion, inputs), strict=True)
    main = conversion.model.main
    last = [each for each in main.operations if each.type == pb.OPERATION_TYPE_DEQUANTIZE][-1]
    scale = main.operands[last.inputs[0]].scale
    return max(float(np.rint(np.abs(a - b).max() / scale)) for a, b in pairs)


def quantized(g: Graph, name: str, scale: float = 0.02, zero_point: int = 3) -> str:
    return g.requantized(name, scale, zero_point, "i1")


def alone(kind: str, output: tuple[float, int], **attributes: object) -> Build:
    def build(g: Graph) -> str:
        x = quantized(g, g.input("x", IMAGE))
        return quantized(g, g.op(kind, x, **attributes), *output)

    return build


SAME = (0.02, 3)
BYTES: dict[str, tuple[Build, str]] = {
    "add": (
        lambda g: quantized(
            g, g.op("Add", quantized(g, g.input("x", IMAGE)), quantized(g, g.input("y", IMAGE)))
        ),
        "ADD",
    ),
    "sub": (
        lambda g: quantized(
            g, g.op("Sub", quantized(g, g.input("x", IMAGE)), quantized(g, g.input("y", IMAGE)))
        ),
        "SUB",
    ),
    "mul_by_constant": (
        lambda g: quantized(
            g, g.op("Mul", quantized(g, g.input("x", IMAGE)), quantized(g, g.weights(4, 1, 1)))
        ),
        "MUL",
    ),
    "concat": (
        lambda g: quantized(
            g,
            g.op(
                "Concat", quantized(g, g.input("x", IMAGE), 0.01),
                quantized(g, g.input("y", IMAGE)), axis=1,
            ),
        ),
        "CONCATENATION",
    ),
    "matmul": (
        lambda g: quantized(
            g,
            g.op("MatMul", quantized(g, g.input("x", (2, 3, 5))),
                 quantized(g, g.input("y", (2, 5, 4)))),
        ),
        "BATCH_MATMUL",
    ),
    "hard_swish": (alone("HardSwish", (0.01, -90)), "HARD_SWISH"),
    "sigmoid": (alone("Sigmoid", (1 / 256, -128)), "LOGISTIC"),
    "softmax": (alone("Softmax", (1 / 256, -128)), "SOFTMAX"),
    "tanh": (alone("Tanh", (1 / 128, 0)), "TANH"),
    "transpose": (alone("Transpose", SAME, perm=[0, 1, 3, 2]), "TRANSPOSE"),
    "average_pool": (alone("AveragePool", SAME, kernel_shape=[2, 2]), "AVERAGE_POOL_2D"),
    "reduce_mean": (alone("ReduceMean", SAME, axes=[2]), "MEAN"),
}  # fmt: skip


def filtered(data: str, filters: str, zero_point: int, *, per_channel: bool) -> Build:
    """A convolution whose bytes are of such types."""

    def build(g: Graph) -> str:
        low = -128 if data == "i1" else 0
        x = g.requantized(g.input("x", IMAGE), 0.02, low + 120, data)
        w, scales = g.quantized_weights(
            5, 4, 3, 3, per_channel=per_channel, dtype=filters, zero_point=zero_point
        )
        y = g.op("Conv", x, w, g.quantized_bias(5, 0.02, scales))
        return g.requantized(y, 0.03, low + 100, data)

    return build


FILTERS = {
    f"{data}_by_{filters}_{zero_point}{'_per_channel' if per_channel else ''}": (
        filtered(data, filters, zero_point, per_channel=per_channel),
        "CONV_2D",
    )
    for data in ("i1", "u1")
    for filters, zero_point in (("i1", 0), ("i1", 7), ("u1", 128), ("u1", 121))
    for per_channel in (False, True)
    if zero_point in (0, 128) or not per_channel
}
COLUMNS: dict[str, tuple[Build, str]] = {
    f"by_columns{'_per_channel' if per_channel else ''}": (
        lambda g, per_channel=per_channel: quantized(
            g,
            g.op(
                "MatMul",
                quantized(g, g.input("x", (2, 3, 5))),
                g.quantized_weights(5, 4, axis=1, per_channel=per_channel)[0],
            ),
        ),
        "CONV_2D" if per_channel else "FULLY_CONNECTED",
    )
    for per_channel in (False, True)
}
BYTES |= FILTERS | COLUMNS
# Where NNAPI's operation wants other scales than the file has, or has no 8-bit form.
REAL: dict[str, tuple[Build, str]] = {
    "sigmoid_in_another_scale": (alone("Sigmoid", (0.01, -128)), "LOGISTIC"),
    "pool_into_another_scale": (alone("MaxPool", (0.03, 3), kernel_shape=[2, 2]), "MAX_POOL_2D"),
    "exp": (alone("Exp", (0.02, -120)), "EXP"),
    "channels_of_the_input": (
        lambda g: quantized(
            g,
            g.op(
                "Conv",
                quantized(g, g.input("x", IMAGE)),
                g.quantized_weights(4, 4, 3, 3, axis=1)[0],
            ),
        ),
        "CONV_2D",
    ),
    "channels_of_which_each_has_a_zero_point": (
        filtered("u1", "u1", 121, per_channel=True),
        "CONV_2D",
    ),
}


@pytest.mark.parametrize("name", BYTES)
def test_8_bit_operator_agrees_within_a_step(name: str, tmp_path: Path) -> None:
    build, operation = BYTES[name]
    g = Graph(len(name))
    conversion, path = read(g, build(g), tmp_path)
    names = counted(operations(conversion))
    # At the end, to give real numbers.
    assert (names[operation], names["DEQUANTIZE"]) == (1, 1)
    assert steps(conversion, path) <= 1


@pytest.mark.parametrize("name", REAL)
def test_what_has_no_8_bit_form_computes_with_real_numbers(name: str, tmp_path: Path) -> None:
    build, operation = REAL[name]
    g = Graph(len(name))
    conversion, path = read(g, build(g), tmp_path)
    names = operations(conversion)
    assert names.index("DEQUANTIZE") < names.index(operation)
    assert steps(conversion, path) <= 1
