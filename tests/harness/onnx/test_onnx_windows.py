# SPDX-License-Identifier: Apache-2.0
"""Attributes of ONNX operators with windows or places in an image: transposed convolutions,
poolings, resizing and the order of channels. Right values are numpy's, written from the operators'
texts, or ONNX Runtime's with its optimiser off."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from halyard import onnx
from halyard.model import Array
from tests.harness.on_parts import converted, original
from tests.harness.onnx_cases import Case, check, conversion_of, floats, image
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")


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


def test_average_of_the_first_version_does_not_say_whether_padding_counts(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.op("AveragePool", image(g, SQUARE), kernel_shape=[2, 2], pads=[1, 1, 0, 0])

    conversion, _ = conversion_of(Case(6, build, []), tmp_path)
    assert [each.reason for each in conversion.unmapped] == [
        "its version does not say whether its padding counts"
    ]


# ---- the order of channels ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_of_operator_set_28_has_a_mode(mode: str, tmp_path: Path) -> None:
    x = floats(2, 3, 4, 6)
    blocks = x.reshape(2, 3, 2, 2, 3, 2)  # n c h bh w bw
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    expected = blocks.transpose(order).reshape(2, 12, 2, 3)
    build = lambda g: g.op("SpaceToDepth", image(g, x), blocksize=2, mode=mode)  # noqa: E731
    check(Case(28, build, [x], expected), tmp_path)
