# SPDX-License-Identifier: Apache-2.0
"""Attributes of ONNX operators that change what is computed: right values are numpy's, written from
the operators' texts, or ONNX Runtime's with its optimiser off."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from halyard import onnx
from halyard.model import Array, Conversion
from tests.harness.on_parts import converted, operations, original
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

INT64 = TensorProto.INT64


@dataclass
class Case:
    opset: int
    build: Callable[[Graph], str]
    inputs: Sequence[Array]
    expected: Array | None = None  # ONNX Runtime's where it is left out
    mapped: bool = True  # whether all of it runs on NNAPI


def conversion_of(case: Case, folder: Path) -> tuple[Conversion, Path]:
    g = Graph(0, case.opset)
    path = folder / "model.onnx"
    path.write_bytes(g.model(case.build(g)).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


def check(case: Case, folder: Path) -> Conversion:
    conversion, path = conversion_of(case, folder)
    assert (conversion.unmapped == ()) == case.mapped, [each.text() for each in conversion.unmapped]
    [found] = converted(conversion, case.inputs)
    expected = original(path, case.inputs)[0] if case.expected is None else case.expected
    assert found.shape == expected.shape
    if np.issubdtype(expected.dtype, np.floating):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected)
    return conversion


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def image(g: Graph, values: Array) -> str:
    return g.input("x", values.shape)


# ---- transposed convolutions --------------------------------------------------------------------


def spread(x: Array, w: Array, stride: int) -> Array:
    """All that a transposed convolution reaches."""
    batch, _, height, width = x.shape
    _, channels, rows, columns = w.shape
    full = np.zeros((batch, channels, (height - 1) * stride + rows, (width - 1) * stride + columns))
    for i in range(height):
        for j in range(width):
            window = np.einsum("nc,cmab->nmab", x[:, :, i, j], w)
            full[:, :, i * stride :, j * stride :][:, :, :rows, :columns] += window
    return full


X, W = floats(1, 2, 4, 5), floats(2, 3, 3, 3, seed=1)
FULL = spread(X, W, 2)  # 9 x 11


def transposed(expected: Array, **attributes: object) -> Case:
    def build(g: Graph) -> str:
        return g.op("ConvTranspose", image(g, X), g.constant(W), strides=[2, 2], **attributes)

    return Case(17, build, [X], expected)


TRANSPOSED = {
    "output_shape": transposed(FULL[:, :, 1:8, 2:10], output_shape=[7, 8]),
    "output_shape_upper": transposed(
        FULL[:, :, 1:8, 1:9], output_shape=[7, 8], auto_pad="SAME_UPPER"
    ),
    "output_shape_lower": transposed(
        FULL[:, :, 1:8, 2:10], output_shape=[7, 8], auto_pad="SAME_LOWER"
    ),
    "same_upper": transposed(FULL[:, :, :8, :10], auto_pad="SAME_UPPER"),
    "same_lower": transposed(FULL[:, :, 1:9, 1:11], auto_pad="SAME_LOWER"),
    # The end's output_padding counts in the part that is cut off.
    "same_upper_and_output_padding": transposed(
        FULL[:, :, 1:9, 1:11], auto_pad="SAME_UPPER", output_padding=[1, 1]
    ),
    "valid": transposed(FULL, auto_pad="VALID"),
    "pads": transposed(FULL[:, :, 1:8, :9], pads=[1, 0, 1, 2]),
    "pads_and_output_padding": transposed(
        FULL[:, :, 1:9, :10], pads=[1, 0, 1, 2], output_padding=[1, 1]
    ),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolution_cuts_off_what_its_attributes_say(name: str, tmp_path: Path) -> None:
    check(TRANSPOSED[name], tmp_path)


def test_transposed_convolution_larger_than_its_reach_is_left_to_the_host(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.op(
            "ConvTranspose", image(g, X), g.constant(W), strides=[2, 2], output_padding=[1, 1]
        )

    conversion = check(Case(17, build, [X], mapped=False), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its output is larger than what TRANSPOSE_CONV_2D computes"
    ]


def test_output_shape_may_be_less_than_the_input(tmp_path: Path) -> None:
    """Of which onnx's inference says nothing, nor does ONNX Runtime."""

    def build(g: Graph) -> str:
        return g.op(
            "ConvTranspose", image(g, X), g.constant(W), strides=[2, 2], output_shape=[3, 4]
        )

    g = Graph()
    path = tmp_path / "model.onnx"
    model = g.model(build(g))
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(1, [1, 3, 3, 4]))
    path.write_bytes(model.SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert conversion.unmapped == ()
    [found] = converted(conversion, [X])
    np.testing.assert_allclose(found, FULL[:, :, 3:6, 4:8], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(original(path, [X])[0], found, rtol=1e-5, atol=1e-5)


# ---- resizing -----------------------------------------------------------------------------------


def interpolated(values: Array, axis: int, scale: float, count: int) -> Array:
    """Along one axis, between pixels whose centres are at halves."""
    extent = values.shape[axis]
    places = np.clip((np.arange(count) + 0.5) / scale - 0.5, 0, extent - 1)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, extent - 1)
    share = np.expand_dims(places - low, [each for each in range(values.ndim) if each != axis])
    return np.take(values, low, axis) * (1 - share) + np.take(values, high, axis) * share


FEATURE_MAP = (np.arange(35, dtype="f4") ** 1.5).reshape(1, 1, 5, 7)


def resized(
    opset: int, *, mapped: bool, numbers: Sequence[Array | None], **attributes: object
) -> Case:
    """`numbers`: scales and sizes."""

    def build(g: Graph) -> str:
        kinds = ("f4", "i8")
        names = [
            "" if each is None else g.constant(each, kind)
            for each, kind in zip(numbers, kinds, strict=False)
        ]
        return g.op("Resize", image(g, FEATURE_MAP), "", *names, **attributes)

    return Case(opset, build, [FEATURE_MAP], mapped=mapped)


TWICE, ODD = np.array([2.0, 2.0]), np.array([1.5, 1.5])
RESIZED = {
    "scales_of_axes": resized(18, mapped=True, numbers=[TWICE], mode="linear", axes=[2, 3]),
    "scales_of_negative_axes": resized(
        18, mapped=True, numbers=[np.array([2.0, 3.0])], mode="linear", axes=[-1, -2]
    ),
    "scales_that_are_not_the_extents": resized(
        18, mapped=False, numbers=[ODD], mode="linear", axes=[2, 3]
    ),
    "sizes_of_axes": resized(
        18, mapped=True, numbers=[None, np.array([7, 10])], mode="linear", axes=[2, 3]
    ),
    "not_larger": resized(
        18, mapped=False, numbers=[None, np.array([7, 10])], mode="linear", axes=[2, 3],
        keep_aspect_ratio_policy="not_larger",
    ),
    "not_smaller": resized(
        18, mapped=True, numbers=[None, np.array([10, 10])], mode="linear", axes=[2, 3],
        keep_aspect_ratio_policy="not_smaller",
    ),
    "antialias": resized(
        18, mapped=False, numbers=[np.array([0.5, 0.5])], mode="linear", axes=[2, 3], antialias=1
    ),
    "cubic": resized(18, mapped=False, numbers=[TWICE], mode="cubic", axes=[2, 3]),
    "cubic_without_what_lies_outside": resized(
        18, mapped=False, numbers=[TWICE], mode="cubic", axes=[2, 3], exclude_outside=1
    ),
    **{
        f"{mode}_{how}": resized(
            19,
            mapped=True,
            numbers=[np.array([1.0, 1.0, 2.0, 2.0])], mode=mode, coordinate_transformation_mode=how,
        )
        for mode in ("linear", "nearest")
        for how in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                    "asymmetric")
    },
    **{
        f"nearest_by_{rounding}": resized(
            18, mapped=rounding in ("floor", "round_prefer_floor"),
            numbers=[np.array([1.0, 1.0, 2.0, 2.0])], mode="nearest",
            nearest_mode=rounding, coordinate_transformation_mode="asymmetric",
        )
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RESIZED)
def test_resizing_agrees_with_onnx_runtime(name: str, tmp_path: Path) -> None:
    check(RESIZED[name], tmp_path)


def test_places_follow_the_scales_of_axes(tmp_path: Path) -> None:
    case = RESIZED["scales_that_are_not_the_extents"]
    case.expected = interpolated(interpolated(FEATURE_MAP, 2, 1.5, 7), 3, 1.5, 10)
    np.testing.assert_allclose(case.expected[0, 0, 0, :4], [0, 0.5, 1.304738, 2.523689], rtol=1e-5)
    check(case, tmp_path)


# ---- the third matrix of a Gemm -----------------------------------------------------------------

A, B = floats(4, 3), floats(3, 4, seed=1)
SUMMANDS: dict[str, Array] = {
    "scalar": np.array(2.5, "f4"),
    "one": np.array([2.5], "f4"),
    "one_by_one": np.array([[2.5]], "f4"),
    "per_column": floats(4, seed=2),
    "one_row": floats(1, 4, seed=2),
    "per_row": np.array([[0], [100], [200], [300]], "f4"),
    "of_all": floats(4, 4, seed=2),
    "of_equal_rows": np.tile(floats(1, 4, seed=2), (4, 1)),
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", SUMMANDS)
@pytest.mark.parametrize("opset", [6, 13])
def test_gemm_adds_what_its_third_matrix_is_broadcast_to(
    name: str, opset: int, computed: bool, tmp_path: Path
) -> None:
    c = SUMMANDS[name]

    def build(g: Graph) -> str:
        third = g.input("c", c.shape) if computed else g.constant(c)
        inputs = [g.input("a", A.shape), g.constant(B.T), third]
        attributes = {"broadcast": 1} if opset == 6 else {}
        return g.op("Gemm", *inputs, transB=1, alpha=0.5, beta=2.0, **attributes)

    # In the order of the graph's inputs.
    inputs = [c, A] if computed else [A]
    check(Case(opset, build, inputs, 0.5 * (A @ B) + 2 * c), tmp_path)


# ---- axes of operator set 6 ---------------------------------------------------------------------

LEFT = floats(2, 3, 4, 5)
OLD = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Greater": np.greater,
    "Less": np.less, "Pow": np.power,
}  # fmt: skip


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3,), 1), ((3, 4), 1), ((2,), 0), ((4, 5), None), ((5,), None), ((1, 1), None), ((), None)],
)
@pytest.mark.parametrize("kind", OLD)
def test_second_input_stands_at_its_axis_in_operator_set_6(
    kind: str, shape: tuple[int, ...], axis: int | None, computed: bool, tmp_path: Path
) -> None:
    left = np.abs(LEFT) if kind == "Pow" else LEFT
    right = np.asarray(floats(*shape, seed=3), "f4")
    at = 4 - len(shape) if axis is None else axis
    placed = right.reshape((1,) * at + shape + (1,) * (4 - at - len(shape)))

    def build(g: Graph) -> str:
        names = [g.input("x", left.shape), g.input("y", shape) if computed else g.constant(right)]
        attributes = {} if axis is None else {"axis": axis}
        return g.op(kind, *names, broadcast=1, **attributes)

    inputs = [left, right] if computed else [left]
    check(Case(6, build, inputs, OLD[kind](left, placed)), tmp_path)


@pytest.mark.parametrize("kind", ["And", "Or"])
def test_truth_values_stand_at_their_axis_too(kind: str, tmp_path: Path) -> None:
    left, right = LEFT > 0, np.array([True, False, True])

    def build(g: Graph) -> str:
        x = g.input("x", left.shape, TensorProto.BOOL)
        return g.op(kind, x, g.constant(right, "?"), broadcast=1, axis=1)

    function = np.logical_and if kind == "And" else np.logical_or
    check(Case(6, build, [left], function(left, right.reshape(1, 3, 1, 1))), tmp_path)


def test_constants_of_operator_set_6_are_placed_as_well(tmp_path: Path) -> None:
    """Values that depend on no input are computed when the file is read."""
    left, right = floats(3, 3), floats(3, seed=1)

    def build(g: Graph) -> str:
        whole = g.op("Add", g.constant(left), g.constant(right), broadcast=1, axis=0)
        return g.op("Mul", g.input("x", (3, 3)), whole)

    x = floats(3, 3, seed=2)
    check(Case(6, build, [x], x * (left + right[:, None])), tmp_path)


# ---- poolings -----------------------------------------------------------------------------------

SQUARE = np.arange(25, dtype="f4").reshape(1, 1, 5, 5)
NAN = np.nan


def windowed(values: Array, kernel: int, stride: int, pad: int, count: int, *, mean: str) -> Array:
    """The largest, or the mean without or with the padding that counts."""
    padded = np.pad(values, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=NAN)
    made = np.zeros((*values.shape[:2], count, count), "f4")
    for i in range(count):
        for j in range(count):
            rows = slice(i * stride, i * stride + kernel)
            window = padded[:, :, rows, j * stride : j * stride + kernel]
            if mean == "all":
                made[:, :, i, j] = np.nan_to_num(window).mean(axis=(2, 3))
            elif mean:
                made[:, :, i, j] = np.nanmean(window, axis=(2, 3))
            else:
                made[:, :, i, j] = np.nanmax(window, axis=(2, 3))
    return made


def pooled(kind: str, expected: Array, **attributes: object) -> Case:
    return Case(17, lambda g: g.op(kind, image(g, SQUARE), **attributes), [SQUARE], expected)


def around(kernel: int, stride: int, pad: int) -> dict[str, object]:
    return {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}


POOLED = {
    # A window that would start in the padding at the end is none.
    "max_2_2_1": pooled(
        "MaxPool", windowed(SQUARE, 2, 2, 1, 3, mean=""), ceil_mode=1, **around(2, 2, 1)
    ),
    "average_2_2_1": pooled(
        "AveragePool", windowed(SQUARE, 2, 2, 1, 3, mean="own"), ceil_mode=1, **around(2, 2, 1)
    ),
    "max_1_3_0": pooled(
        "MaxPool", windowed(SQUARE, 1, 3, 0, 2, mean=""), ceil_mode=1, **around(1, 3, 0)
    ),
    # A window that hangs over has what is there.
    "max_2_2_0": pooled(
        "MaxPool", windowed(SQUARE, 2, 2, 0, 3, mean=""), ceil_mode=1, **around(2, 2, 0)
    ),
    "average_2_2_0": pooled(
        "AveragePool", windowed(SQUARE, 2, 2, 0, 3, mean="own"), ceil_mode=1, **around(2, 2, 0)
    ),
    "average_counting_3_2_1": pooled(
        "AveragePool", windowed(SQUARE, 3, 2, 1, 3, mean="all"), count_include_pad=1,
        **around(3, 2, 1),
    ),
    "average_counting_and_hanging_over": pooled(
        "AveragePool", windowed(SQUARE, 4, 2, 1, 3, mean="all"), count_include_pad=1, ceil_mode=1,
        **around(4, 2, 1),
    ),
    "max_of_one_column_major_order": pooled(
        "MaxPool", windowed(SQUARE, 2, 2, 0, 2, mean=""), storage_order=1, **around(2, 2, 0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POOLED)
def test_pooling_has_the_windows_that_its_attributes_say(name: str, tmp_path: Path) -> None:
    check(POOLED[name], tmp_path)


def test_pooling_whose_last_window_is_none_has_fewer(tmp_path: Path) -> None:
    x = floats(1, 1, 2, 2)
    build = lambda g: g.op("MaxPool", image(g, x), ceil_mode=1, **around(1, 2, 0))  # noqa: E731
    check(Case(17, build, [x], x[:, :, :1, :1]), tmp_path)


@pytest.mark.parametrize("kind", ["AveragePool", "Conv"])
def test_window_larger_than_its_image_is_left_to_the_host(kind: str, tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        x = g.input("x", (1, 1, 2, 1))
        if kind == "Conv":
            return g.op("Conv", x, g.weights(1, 1, 3, 1), strides=[2, 1])
        return g.op("AveragePool", x, kernel_shape=[3, 1], strides=[2, 1], count_include_pad=1)

    conversion, _ = conversion_of(Case(17, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == ["its window is larger than its image"]


@pytest.mark.parametrize("automatic", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("counting", [0, 1])
def test_automatic_padding_agrees_with_onnx_runtime(
    automatic: str, counting: int, tmp_path: Path
) -> None:
    def build(g: Graph) -> str:
        return g.op(
            "AveragePool", image(g, SQUARE), kernel_shape=[2, 3], strides=[2, 1],
            auto_pad=automatic, count_include_pad=counting,
        )  # fmt: skip

    check(Case(17, build, [SQUARE]), tmp_path)


# ---- the order of channels ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_of_operator_set_28_has_a_mode(mode: str, tmp_path: Path) -> None:
    x = floats(2, 3, 4, 6)
    blocks = x.reshape(2, 3, 2, 2, 3, 2)  # n c h bh w bw
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    expected = blocks.transpose(order).reshape(2, 12, 2, 3)
    build = lambda g: g.op("SpaceToDepth", image(g, x), blocksize=2, mode=mode)  # noqa: E731
    check(Case(28, build, [x], expected), tmp_path)


# ---- softmax of several dimensions as one -------------------------------------------------------


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_softmax_before_operator_set_13_is_of_two_dimensions(
    kind: str, axis: int, tmp_path: Path
) -> None:
    x = floats(2, 3, 4, 5)
    first = axis % 4
    rows = np.exp(x.reshape(int(np.prod(x.shape[:first])), -1).astype("f8"))
    shares = rows / rows.sum(axis=1, keepdims=True)
    expected = (np.log(shares) if kind == "LogSoftmax" else shares).reshape(x.shape)
    check(Case(11, lambda g: g.op(kind, image(g, x), axis=axis), [x], expected), tmp_path)


def test_softmax_of_constants_before_operator_set_13_is_as_well(tmp_path: Path) -> None:
    held, x = floats(2, 3, 4), floats(2, 3, 4, seed=1)
    rows = np.exp(held.reshape(2, 12))
    expected = x * (rows / rows.sum(axis=1, keepdims=True)).reshape(2, 3, 4)

    def build(g: Graph) -> str:
        return g.op("Mul", image(g, x), g.op("Softmax", g.constant(held), axis=1))

    check(Case(11, build, [x], expected), tmp_path)


def test_constants_lose_the_dimensions_that_an_old_squeeze_names(tmp_path: Path) -> None:
    held, x = floats(1, 3, 1), floats(2, 1, 3, seed=1)

    def build(g: Graph) -> str:
        return g.op("Add", image(g, x), g.op("Squeeze", g.constant(held), axes=[2]))

    check(Case(11, build, [x], x + held[:, :, 0]), tmp_path)


# ---- reductions of nothing ----------------------------------------------------------------------

REDUCED: dict[str, Callable[[Array], Array]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.abs,
    "ReduceMax": np.asarray,
    "ReduceMean": np.asarray,
    "ReduceMin": np.asarray,
    "ReduceProd": np.asarray,
    "ReduceSum": np.asarray,
    "ReduceSumSquare": np.square,
}


@pytest.mark.parametrize("given", ["empty", "absent"])
@pytest.mark.parametrize("kind", REDUCED)
def test_reduction_of_no_axes_does_the_rest(kind: str, given: str, tmp_path: Path) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        axes = [g.constant(np.zeros(0), "i8")] if given == "empty" else []
        return g.op(kind, image(g, x), *axes, noop_with_empty_axes=1)

    check(Case(18, build, [x], REDUCED[kind](x)), tmp_path)


@pytest.mark.parametrize("kind", REDUCED)
@pytest.mark.parametrize("keep", [0, 1])
def test_reduction_of_five_dimensions_along_one_of_one(
    kind: str, keep: int, tmp_path: Path
) -> None:
    x = floats(1, 2, 3, 4, 5)
    expected = REDUCED[kind](x) if keep else REDUCED[kind](x)[0]

    def build(g: Graph) -> str:
        five = g.op("Reshape", image(g, x.reshape(2, 3, 4, 5)), g.ints(1, 2, 3, 4, 5))
        return g.op("Identity", g.op(kind, five, g.ints(0), keepdims=keep))

    case = Case(18, build, [x.reshape(2, 3, 4, 5)], expected)
    check(case, tmp_path)


# ---- what has no mapping because of an attribute ------------------------------------------------


def test_dropout_in_training_mode_is_left_to_the_host(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        training = g.constant(True, "?")
        return g.op("Dropout", g.input("x", (2, 3)), g.constant(0.5), training, seed=1)

    conversion, _ = conversion_of(Case(13, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == ["it is in training mode"]


def test_dropout_with_its_mode_given_as_false_is_nothing(tmp_path: Path) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        return g.op("Dropout", image(g, x), g.constant(0.5), g.constant(False, "?"))

    check(Case(13, build, [x], x), tmp_path)


def test_training_normalization_leaves_the_convolution_before_it_on_nnapi(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        x = g.op("Conv", g.input("x", (1, 2, 3, 3)), g.weights(2, 2, 1, 1))
        statistics = [g.factors(2), g.weights(2), g.weights(2), g.factors(2)]
        return g.op("BatchNormalization", x, *statistics, outputs=3, training_mode=1)

    conversion, _ = conversion_of(Case(15, build, []), tmp_path)
    assert [(each.operator.split()[1], each.reason) for each in conversion.unmapped] == [
        ("BatchNormalization", "it is in training mode")
    ]


# ---- more than four dimensions ------------------------------------------------------------------


def of_five(shape: Sequence[int], build: Callable[[Graph, str], str], expected: Array) -> Case:
    """On numbers from 0 on, in that shape, and flat behind."""
    numbers = np.arange(int(np.prod(shape)), dtype="f4")

    def whole(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", numbers.shape), g.ints(*shape))
        return g.op("Reshape", build(g, five), g.ints(-1))

    return Case(17, whole, [numbers], expected.reshape(-1))


def grid(*shape: int) -> Array:
    return np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)


FIVE = {
    "expand_along_the_first": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Expand", x, g.ints(2, 2, 1, 1, 3)),
        np.broadcast_to(grid(1, 2, 1, 1, 3), (2, 2, 1, 1, 3)),
    ),
    "tile_along_one_of_one": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Tile", x, g.ints(1, 1, 4, 1, 1)),
        np.tile(grid(1, 2, 1, 1, 3), (1, 1, 4, 1, 1)),
    ),
    "expand_to_more": of_five(
        (2, 1, 3), lambda g, x: g.op("Expand", x, g.ints(1, 1, 2, 4, 3)),
        np.broadcast_to(grid(2, 1, 3), (1, 1, 2, 4, 3)),
    ),
    "matmul": of_five(
        (1, 2, 1, 3, 4),
        lambda g, x: g.op("MatMul", x, g.constant(grid(2, 1, 1, 4, 5))),
        grid(1, 2, 1, 3, 4) @ grid(2, 1, 1, 4, 5),
    ),
    "gather_of_places": of_five(
        (1, 2, 1, 1, 3), lambda g, x: g.op("Gather", x, g.constant([[1, 0], [0, 1]], "i8"), axis=1),
        np.take(grid(1, 2, 1, 1, 3), [[1, 0], [0, 1]], axis=1),
    ),
    "add_of_fewer": of_five(
        (2, 1, 3, 1, 2), lambda g, x: g.op("Add", x, g.constant(grid(3, 1, 1))),
        grid(2, 1, 3, 1, 2) + grid(3, 1, 1),
    ),
    "transpose": of_five(
        (2, 1, 3, 1, 2), lambda g, x: g.op("Transpose", x, perm=[4, 1, 0, 3, 2]),
        grid(2, 1, 3, 1, 2).transpose(4, 1, 0, 3, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIVE)
def test_value_of_five_dimensions_keeps_its_elements_in_their_places(
    name: str, tmp_path: Path
) -> None:
    check(FIVE[name], tmp_path)


def test_layer_normalization_of_five_dimensions_weighs_each_element(tmp_path: Path) -> None:
    x, gamma, beta = floats(2, 3, 1, 2, 2), floats(3, 1, 2, 2, seed=1), floats(3, 1, 2, 2, seed=2)

    def build(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", (2, 12)), g.ints(2, 3, 1, 2, 2))
        y = g.op("LayerNormalization", five, g.constant(gamma), g.constant(beta), axis=1)
        return g.op("Reshape", y, g.ints(2, 12))

    centred = x - x.mean(axis=(1, 2, 3, 4), keepdims=True)
    spread_of = np.sqrt((centred**2).mean(axis=(1, 2, 3, 4), keepdims=True) + 1e-5)
    expected = centred / spread_of * gamma + beta
    check(Case(17, build, [x.reshape(2, 12)], expected.reshape(2, 12)), tmp_path)


def test_dimension_that_is_left_away_is_the_reason(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        five = g.op("Reshape", g.input("x", (2, 12)), g.ints(1, 2, 3, 2, 2))
        return g.op("Reshape", g.op("Softmax", five, axis=0), g.ints(2, 12))

    x = floats(2, 12)
    conversion = check(Case(17, build, [x], np.ones((2, 12), "f4"), mapped=False), tmp_path)
    assert "it works along dimension 0 of 5, which is of one and left away: NNAPI takes 4" in [
        each.reason for each in conversion.unmapped
    ]


@pytest.mark.parametrize("value", [2.0, 0.5, 3.0])
def test_exponent_of_one_element_may_have_more_dimensions(value: float, tmp_path: Path) -> None:
    x = np.array([0.5, 2, 3, 0.25], "f4")
    build = lambda g: g.op("Pow", g.input("x", (4,)), g.constant([[value]]))  # noqa: E731
    check(Case(13, build, [x], np.power(x, [[value]])), tmp_path)


def test_exponent_may_give_an_image_a_fifth_dimension(tmp_path: Path) -> None:
    x = np.abs(floats(1, 2, 3, 3)) + 0.5

    def build(g: Graph) -> str:
        identity = g.constant(np.eye(2)[:, :, None, None])
        y = g.op("Pow", g.op("Conv", image(g, x), identity), g.constant(np.full((1,) * 5, 3.0)))
        return g.op("Reshape", y, g.ints(-1))

    check(Case(13, build, [x], (x**3).reshape(-1)), tmp_path)


def test_operator_that_is_not_understood_is_not_taken_in_by_others(tmp_path: Path) -> None:
    """A sum of bytes would quantise its result in a way that the file does not say."""

    def build(g: Graph) -> str:
        x = g.requantized(g.input("x", (2, 3)), 0.02, 3, "i1")
        scale, zero_point = g.constant(0.05), g.constant(3, "i1")
        total = g.op("Add", x, x)
        half = TensorProto.FLOAT16
        whole = g.op("QuantizeLinear", total, scale, zero_point, precision=half)
        return g.op("DequantizeLinear", whole, scale, zero_point)

    conversion, _ = conversion_of(Case(23, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its precision is 10, and 0 or 1 is understood"
    ]


# ---- whole numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_computed_indices_count_from_the_end_where_they_are_negative(
    axis: int, kind: int, tmp_path: Path
) -> None:
    table = floats(4, 4, 3)
    dtype = "i8" if kind == TensorProto.INT64 else "i4"
    where = np.array([[-1, 0], [-3, 2]], dtype)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.input("ids", where.shape, kind), axis=axis)

    check(Case(13, build, [where], np.take(table, where, axis=axis)), tmp_path)


def test_a_computed_scalar_takes_one_place(tmp_path: Path) -> None:
    table, where = floats(4, 3), np.array(-2)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.input("id", (), INT64), axis=0)

    check(Case(13, build, [where], table[-2]), tmp_path)


def test_places_that_an_operator_found_are_not_looked_at_again(tmp_path: Path) -> None:
    table, x = floats(5, 3), floats(2, 5, seed=1)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.op("ArgMax", g.input("x", (2, 5)), axis=1))

    conversion = check(Case(13, build, [x], table[x.argmax(axis=1)][:, None]), tmp_path)
    assert "SELECT" not in operations(conversion)


WIDE = np.array([2**31 - 1, -(2**31), 7])
ARITHMETIC: dict[str, tuple[Callable[[Graph, str], str], Array]] = {
    "add": (lambda g, x: g.op("Add", x, g.ints(1)), WIDE + 1),
    "sub": (lambda g, x: g.op("Sub", g.ints(-2), x), -2 - WIDE),
    "mul": (lambda g, x: g.op("Mul", x, x), WIDE * WIDE),
    "neg": (lambda g, x: g.op("Neg", x), -WIDE),
    "abs": (lambda g, x: g.op("Abs", x), np.abs(WIDE)),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_int64_that_may_go_beyond_32_bits_is_left_to_the_host(name: str, tmp_path: Path) -> None:
    build, expected = ARITHMETIC[name]
    case = Case(13, lambda g: build(g, g.input("x", (3,), INT64)), [WIDE], expected, mapped=False)
    [reason] = [each.reason for each in check(case, tmp_path).unmapped]
    assert "is of INT64 and may go beyond 32 bits, in which NNAPI computes" in reason


def test_reals_become_int64_on_the_host(tmp_path: Path) -> None:
    x = np.array([1e10, -3e9, 1.5], "f4")
    build = lambda g: g.op("Cast", g.input("x", (3,)), to=INT64)  # noqa: E731
    check(Case(13, build, [x], x.astype("i8"), mapped=False), tmp_path)


def test_what_reads_int64_beyond_32_bits_is_left_to_the_host_as_well(tmp_path: Path) -> None:
    """It would not come into NNAPI's part."""

    def build(g: Graph) -> str:
        wide = g.op("Mul", g.input("x", (3,), INT64), g.ints(2))
        return g.op("Reshape", wide, g.ints(3, 1))

    case = Case(13, build, [WIDE], (WIDE * 2)[:, None], mapped=False)
    assert len(check(case, tmp_path).unmapped) == 2


def test_reals_of_int64_beyond_32_bits_are_the_hosts(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.op("Cast", g.op("Mul", g.input("x", (3,), INT64), g.ints(2)), to=TensorProto.FLOAT)

    case = Case(13, build, [WIDE], (WIDE * 2).astype("f4"), mapped=False)
    assert len(check(case, tmp_path).unmapped) == 2


def test_places_that_the_host_computed_are_taken(tmp_path: Path) -> None:
    """They are within the table, or the file would not run at all."""
    table, x = floats(5, 3), np.array([1.5, -2.25, 4.0], "f4")

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.op("Cast", g.input("x", (3,)), to=INT64))

    conversion = check(Case(13, build, [x], table[x.astype(int)], mapped=False), tmp_path)
    assert [each.operator.split()[1] for each in conversion.unmapped] == ["Cast"]


def test_int64_whose_range_is_known_is_computed_on_nnapi(tmp_path: Path) -> None:
    x = floats(2, 5)

    def build(g: Graph) -> str:
        found = g.op("Add", g.op("ArgMax", g.input("x", (2, 5)), axis=1), g.ints(4))
        return g.op("Mul", found, g.op("Neg", found))

    found = x.argmax(axis=1)[:, None] + 4
    check(Case(13, build, [x], -found * found), tmp_path)


def test_ranges_of_a_long_chain_are_found_in_no_time(tmp_path: Path) -> None:
    """Each value is read twice: looked at once each, or a graph of 200 operators takes for ever."""

    def build(g: Graph) -> str:
        x = g.op("ArgMax", g.input("x", (2, 5)), axis=1)
        for _ in range(200):
            x = g.op("Max", x, g.op("Min", x, x))
        return x

    x = floats(2, 5)
    check(Case(13, build, [x], x.argmax(axis=1)[:, None]), tmp_path)


# ---- what is equal ------------------------------------------------------------------------------

TIES = np.array([[1, 3, 3, 2, 3], [0, 0, 0, 0, 0]], "f4")


def test_of_equal_ones_the_first_comes_first(tmp_path: Path) -> None:
    """TOPK_V2 has the last one first."""

    def build(g: Graph) -> str:
        return g.ops("TopK", g.input("x", TIES.shape), g.ints(4), outputs=2)[1]

    expected = np.argsort(-TIES, axis=1, kind="stable")[:, :4]
    check(Case(13, build, [TIES], expected), tmp_path)


def test_values_of_equal_ones_need_no_places(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.ops("TopK", g.input("x", TIES.shape), g.ints(4), outputs=2)[0]

    conversion = check(Case(13, build, [TIES], -np.sort(-TIES, axis=1)[:, :4]), tmp_path)
    assert operations(conversion) == ["TOPK_V2"]


def test_transposed_scalar_is_the_scalar(tmp_path: Path) -> None:
    x = np.array(1.5, "f4")

    def build(g: Graph) -> str:
        return g.op("Neg", g.op("Transpose", g.input("x", ())))

    check(Case(13, build, [x], -x), tmp_path)


@pytest.mark.parametrize("kind", ["GreaterOrEqual", "LessOrEqual"])
@pytest.mark.parametrize("opset", [12, 15, 16])
def test_comparison_has_a_shape_where_its_schema_says_none(
    kind: str, opset: int, tmp_path: Path
) -> None:
    x = floats(2, 3)

    def build(g: Graph) -> str:
        return g.op("Where", g.op(kind, g.input("x", (2, 3)), g.constant(0)), g.constant(1),
                    g.constant(2))  # fmt: skip

    chosen = x >= 0 if kind == "GreaterOrEqual" else x <= 0
    g = Graph(0, opset)
    path = tmp_path / "model.onnx"
    model = g.model(build(g))
    model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(1, [2, 3]))
    path.write_bytes(model.SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert conversion.unmapped == ()
    np.testing.assert_array_equal(converted(conversion, [x])[0], np.where(chosen, 1, 2))


def test_average_of_the_first_version_does_not_say_whether_padding_counts(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.op("AveragePool", image(g, SQUARE), kernel_shape=[2, 2], pads=[1, 1, 0, 0])

    conversion, _ = conversion_of(Case(6, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its version does not say whether its padding counts"
    ]
