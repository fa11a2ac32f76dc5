# SPDX-License-Identifier: Apache-2.0
"""Float32 kernels in numpy, NHWC.

Calibration runs them, and they are an independent word on the driver's results. Shapes and
attributes are those of the NNAPI operations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from halyard.model import arguments
from halyard.model.arguments import Activation, ExplicitPadding, Padding, Window

Floats = npt.NDArray[np.float32]

_BOUNDS = {
    Activation.NONE: (-np.inf, np.inf),
    Activation.RELU: (0.0, np.inf),
    Activation.RELU1: (-1.0, 1.0),
    Activation.RELU6: (0.0, 6.0),
}


def activate(values: Floats, activation: Activation) -> Floats:
    if activation == Activation.NONE:
        return values
    low, high = _BOUNDS[activation]
    return np.clip(values, np.float32(low), np.float32(high))


def conv_2d(data: Floats, weights: Floats, bias: Floats, window: Window) -> Floats:
    """weights: [outputs, height, width, inputs]."""
    outputs, filter_h, filter_w, _ = weights.shape
    if (filter_h, filter_w, window.stride_h, window.stride_w) == (1, 1, 1, 1):
        columns = data
    else:
        taps = list(_taps(data, filter_h, filter_w, window, 0.0))
        columns = np.concatenate(taps, axis=3)
    result = columns @ weights.reshape(outputs, -1).T + bias
    return activate(result, window.activation)


def depthwise_conv_2d(data: Floats, weights: Floats, bias: Floats, window: Window) -> Floats:
    """weights: [1, height, width, channels * multiplier]."""
    _, filter_h, filter_w, channels = weights.shape
    taps = _taps(data, filter_h, filter_w, window, 0.0)
    result: Floats | None = None
    for tap, row in zip(taps, weights.reshape(-1, channels), strict=True):
        product = np.repeat(tap, window.multiplier, axis=3) if window.multiplier > 1 else tap
        result = product * row if result is None else result + product * row
    assert result is not None
    return activate(result + bias, window.activation)


def average_pool_2d(data: Floats, window: Window) -> Floats:
    """Padding takes no part in an average."""
    size = window.filter_h, window.filter_w
    total = sum(_taps(data, *size, window, 0.0), np.float32(0))
    inside = np.ones((1, *data.shape[1:3], 1), np.float32)
    count = sum(_taps(inside, *size, window, 0.0), np.float32(0))
    return activate(np.asarray(total / count, np.float32), window.activation)


def max_pool_2d(data: Floats, window: Window) -> Floats:
    taps = _taps(data, window.filter_h, window.filter_w, window, -np.inf)
    result = next(taps)
    for tap in taps:
        result = np.maximum(result, tap)
    return activate(result, window.activation)


def fully_connected(data: Floats, weights: Floats, bias: Floats, activation: Activation) -> Floats:
    """weights: [units, inputs]; data is seen as [batch, inputs]."""
    rows = data.reshape(-1, weights.shape[1])
    return activate(rows @ weights.T + bias, activation)


def hard_swish(data: Floats) -> Floats:
    return np.asarray(data * np.clip(data / 6 + np.float32(0.5), 0, 1), np.float32)


def resize_bilinear(
    data: Floats, height: int, width: int, align_corners: bool, half_pixel_centers: bool
) -> Floats:
    rows = _stretched(data, 1, height, align_corners, half_pixel_centers)
    return _stretched(rows, 2, width, align_corners, half_pixel_centers)


def _stretched(data: Floats, axis: int, extent: int, corners: bool, centers: bool) -> Floats:
    """Between two neighbours along the axis."""
    before = data.shape[axis]
    if corners and extent > 1:
        scale = np.float32(before - 1) / np.float32(extent - 1)
    else:
        scale = np.float32(before) / np.float32(extent)
    places = np.arange(extent, dtype=np.float32)
    source = (places + np.float32(0.5)) * scale - np.float32(0.5) if centers else places * scale
    first = np.clip(np.floor(source), 0, before - 1).astype(np.intp)
    second = np.minimum(np.maximum(np.floor(source).astype(np.intp) + 1, 0), before - 1)
    shape = [1] * data.ndim
    shape[axis] = extent
    share = (source - np.floor(source)).reshape(shape)
    return np.asarray(
        data.take(first, axis) * (1 - share) + data.take(second, axis) * share, np.float32
    )


def softmax(data: Floats, beta: float, axis: int) -> Floats:
    powers = np.exp(np.float32(beta) * (data - data.max(axis=axis, keepdims=True)))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True), np.float32)


def logistic(data: Floats) -> Floats:
    # tanh does not overflow, however large the argument.
    return np.asarray(0.5 * (np.tanh(0.5 * data) + 1), np.float32)


def _taps(
    data: Floats, filter_h: int, filter_w: int, window: Window, fill: float
) -> Iterator[Floats]:
    """For each position in the filter, row by row, the image that it sees: [N, Ho, Wo, C]."""
    span_h = (filter_h - 1) * window.dilation_h + 1
    span_w = (filter_w - 1) * window.dilation_w + 1
    if isinstance(window.padding, ExplicitPadding):
        rows = window.padding.top, window.padding.bottom
        columns = window.padding.left, window.padding.right
    elif window.padding is Padding.SAME:
        rows = arguments.same_padding(data.shape[1], span_h, window.stride_h)
        columns = arguments.same_padding(data.shape[2], span_w, window.stride_w)
    else:
        rows = columns = (0, 0)
    if any(rows) or any(columns):
        data = np.pad(data, ((0, 0), rows, columns, (0, 0)), constant_values=np.float32(fill))
    end_h = data.shape[1] - span_h + 1
    end_w = data.shape[2] - span_w + 1
    for i in range(filter_h):
        for j in range(filter_w):
            top, left = i * window.dilation_h, j * window.dilation_w
            yield data[
                :, top : top + end_h : window.stride_h, left : left + end_w : window.stride_w
            ]
