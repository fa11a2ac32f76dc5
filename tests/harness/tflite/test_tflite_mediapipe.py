# SPDX-License-Identifier: Apache-2.0
"""MediaPipe's custom operators, against what numpy makes of their contract, written from there."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.engines.litert import LiteRt
from halyard.engines.original import run_file
from halyard.model import Array
from tests.harness.on_parts import converted
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert, operations

_RANDOM = np.random.default_rng(12)
_SAME, _VALID = 1, 2
_CONVOLUTION = "Convolution2DTransposeBias"
_POOLING = "MaxPoolingWithArgmax2D"


def _options(*numbers: int) -> Any:
    return np.frombuffer(struct.pack(f"<{len(numbers)}i", *numbers), np.uint8)


def _image(*shape: int) -> Array:
    """With equal numbers, too."""
    return (_RANDOM.integers(-4, 5, shape) / 2).astype(np.float32)


def _transposed(
    image: Array, filters: Array, bias: Array, padding: int, strides: tuple[int, int]
) -> Array:
    """Strides of height and width."""
    pads = [
        max(0, size - (extent - 1) % stride - 1) if padding == _SAME else 0
        for size, extent, stride in zip(filters.shape[1:3], image.shape[1:3], strides, strict=True)
    ]
    whole = [
        stride * (extent - 1) + size
        for size, extent, stride in zip(filters.shape[1:3], image.shape[1:3], strides, strict=True)
    ]
    result = np.zeros((image.shape[0], *whole, filters.shape[0]))
    for y in range(image.shape[1]):
        for x in range(image.shape[2]):
            at = y * strides[0], x * strides[1]
            patch = np.einsum("bi,ohwi->bhwo", image[:, y, x], filters)
            rows = slice(at[0], at[0] + filters.shape[1])
            result[:, rows, at[1] : at[1] + filters.shape[2]] += patch
    top, left = pads[0] // 2, pads[1] // 2
    kept = result[:, top : whole[0] - (pads[0] - top), left : whole[1] - (pads[1] - left)]
    return (kept + bias).astype(np.float32)


@pytest.mark.parametrize("padding", [_SAME, _VALID])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (2, 3)])
@pytest.mark.parametrize("size", [(2, 2), (3, 3), (4, 3)])
def test_transposed_convolutions(
    size: tuple[int, int], strides: tuple[int, int], padding: int, tmp_path: Path
) -> None:
    image, filters = _image(1, 4, 5, 3), _image(6, *size, 3)
    bias = _image(6)
    expected = _transposed(image, filters, bias, padding, strides)
    graph = GraphFile()
    source, output = graph.input(image.shape), graph.tensor(expected.shape)
    given = [source, graph.constant(filters), graph.constant(bias)]
    graph.add("Convolution2DTransposeBias", given, [output])
    graph.operators[-1].customOptions = _options(padding, strides[1], strides[0])
    found = convert(graph, [output], tmp_path)
    assert operations(found) == ["TRANSPOSE_CONV_2D"]
    [ours] = converted(found, [image])
    np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


def test_transposed_convolutions_as_litert_has_them(tmp_path: Path) -> None:
    """Of an odd width its kernel makes an even one."""
    graph = GraphFile()
    source, output = graph.input((1, 4, 5, 3)), graph.tensor((1, 8, 10, 6))
    given = [source, graph.constant(_image(6, 3, 3, 3)), graph.constant(_image(6))]
    graph.add(_CONVOLUTION, given, [output])
    graph.operators[-1].customOptions = _options(_SAME, 2, 2)
    found = convert(graph, [output], tmp_path)
    image = _image(1, 4, 5, 3)
    [ours] = converted(found, [image])
    [theirs], _ = run_file(LiteRt(), found.source.path, [image], 1, 0)
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


def _pooled(
    image: Array, padding: int, strides: tuple[int, int], size: tuple[int, int]
) -> tuple[Array, Array]:
    extents = image.shape[1:3]
    if padding == _SAME:
        result = [-(-extent // stride) for extent, stride in zip(extents, strides, strict=True)]
    else:
        result = [
            (extent - each) // stride + 1
            for extent, each, stride in zip(extents, size, strides, strict=True)
        ]
    before = [
        max(0, (count - 1) * stride + each - extent) // 2
        for count, stride, each, extent in zip(result, strides, size, extents, strict=True)
    ]
    shape = (image.shape[0], *result, image.shape[3])
    values, places = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for at in np.ndindex(*shape):
        best = -np.inf
        for row, column in np.ndindex(*size):
            y, x = at[1] * strides[0] - before[0] + row, at[2] * strides[1] - before[1] + column
            if 0 <= y < extents[0] and 0 <= x < extents[1] and image[at[0], y, x, at[3]] > best:
                best = image[at[0], y, x, at[3]]
                places[at] = row * size[1] + column + 0.1
        values[at] = best
    return values, places


@pytest.mark.parametrize("padding", [_SAME, _VALID])
@pytest.mark.parametrize(("strides", "size"), [((2, 2), (2, 2)), ((1, 2), (3, 2))])
def test_pooling_tells_where_the_largest_is(
    strides: tuple[int, int], size: tuple[int, int], padding: int, tmp_path: Path
) -> None:
    image = _image(2, 5, 7, 3)
    expected = _pooled(image, padding, strides, size)
    graph = GraphFile()
    source = graph.input(image.shape)
    outputs = [graph.tensor(each.shape) for each in expected]
    graph.add("MaxPoolingWithArgmax2D", [source], outputs)
    graph.operators[-1].customOptions = _options(
        padding, strides[1], strides[0], size[1], size[0], 0
    )
    found = convert(graph, outputs, tmp_path)
    assert not found.unmapped
    for ours, wanted in zip(converted(found, [image]), expected, strict=True):
        np.testing.assert_array_equal(ours, wanted)


def test_unpooling_puts_numbers_back_where_they_were(tmp_path: Path) -> None:
    values = _image(1, 3, 4, 5)
    numbers = _RANDOM.integers(0, 4, values.shape)
    places = (numbers + 0.1).astype(np.float32)
    expected = np.zeros((1, 6, 8, 5), np.float32)
    for at in np.ndindex(*values.shape):
        row, column = divmod(int(numbers[at]), 2)
        expected[at[0], at[1] * 2 + row, at[2] * 2 + column, at[3]] = values[at]
    graph = GraphFile()
    given = [graph.input(values.shape), graph.input(values.shape)]
    output = graph.tensor(expected.shape)
    graph.add("MaxUnpooling2D", given, [output])
    graph.operators[-1].customOptions = _options(_VALID, 2, 2, 2, 2, 0)
    found = convert(graph, [output], tmp_path)
    assert not found.unmapped
    np.testing.assert_array_equal(converted(found, [values, places])[0], expected)


# ---- what is left to the host, and why ----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "result", "reason"),
    [
        (_CONVOLUTION, (1, 2), (1, 8, 8, 2), "its options have 8 bytes, and 12 are wanted"),
        (_CONVOLUTION, (1, 0, 2), (1, 8, 8, 2), "its strides and window are (0, 2, 1, 1)"),
        (_CONVOLUTION, (3, 2, 2), (1, 8, 8, 2), "its padding is 3, which is no scheme"),
        (_CONVOLUTION, (1, 2, 2, 1), (1, 8, 8, 2), "its fused activation is 1"),
        (_CONVOLUTION, (2, 2, 2), (1, 9, 9, 2), "its output is [1, 9, 9, 2], of 8 by 8"),
        (_POOLING, (2, 2, 2, 9, 9, 0), (1, 8, 8, 2), "its window has 81 places"),
        (_POOLING, (2, 2, 2, 2, 2, 0), (1, 8, 8, 2), "it makes [1, 8, 8, 2] of [1, 4, 4, 2]"),
        ("MaxUnpooling2D", (2, 2, 1, 2, 2, 0), (1, 8, 8, 2), "its windows are not squares that"),
        ("MaxUnpooling2D", (2, 2, 2, 2, 2, 0), (1, 9, 8, 2), "it makes [1, 9, 8, 2] of [1, 4"),
        ("TransformLandmarks", (), (1, 4), "an operator of MediaPipe's, which LiteRT's"),
        ("FlexErf", (), (1, 4), "TensorFlow's Erf, which takes TensorFlow's Flex delegate"),
        ("Mine", (), (1, 4), "a custom operator, which only its own runtime knows"),
    ],
)
def test_reasons(
    kind: str, options: tuple[int, ...], result: tuple[int, ...], reason: str, tmp_path: Path
) -> None:
    graph = GraphFile()
    source, output = graph.input((1, 4, 4, 2)), graph.tensor(result)
    given, outputs = [source], [output]
    if kind == _CONVOLUTION:
        given += [graph.constant(_image(2, 2, 2, 2)), graph.constant(_image(2))]
    elif kind == _POOLING:
        outputs.append(graph.tensor(result))
    elif kind == "MaxUnpooling2D":
        given.append(graph.input((1, 4, 4, 2)))
    graph.add(kind, given, outputs)
    graph.operators[-1].customOptions = _options(*options)
    [unmapped] = convert(graph, outputs, tmp_path).unmapped
    assert unmapped.reason.startswith(reason)


def test_integers_are_for_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((1, 4, 4, 2), "int8", 0.1, 0)
    outputs = [graph.tensor((1, 2, 2, 2), "int8", 0.1, 0), graph.tensor((1, 2, 2, 2))]
    graph.add(_POOLING, [source], outputs)
    graph.operators[-1].customOptions = _options(2, 2, 2, 2, 2, 0)
    [unmapped] = convert(graph, outputs, tmp_path).unmapped
    assert unmapped.reason == "'t0' is INT8, and it is of floats"
