# SPDX-License-Identifier: Apache-2.0
"""Regions of interest of a feature map, at one size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation
from halyard.reference.window import from_layout, to_layout


@operation("ROI_ALIGN")
def roi_align(call: Call) -> Sequence[Array]:
    """The mean of evenly spread samples of each bin, by bilinear interpolation, without rounding.
    The ratios are by how much the image is higher and wider than the feature map; the samples are
    those of a bin, or 0."""
    nchw = call.flag("layout")
    features, regions = from_layout(call.real("input"), nchw), call.real("boxes")
    batches = call.tensor("batches").stored
    height, width = call.integer("output_height"), call.integer("output_width")
    ratios = call.number("height_ratio"), call.number("width_ratio")
    samples = call.integer("height_samples"), call.integer("width_samples")
    result = np.zeros((len(regions), height, width, features.shape[3]))
    for at, (x1, y1, x2, y2) in enumerate(regions):
        ys = _samples(y1 / ratios[0], y2 / ratios[0], height, samples[0])
        xs = _samples(x1 / ratios[1], x2 / ratios[1], width, samples[1])
        rows = _along(features[batches[at]], ys.reshape(-1))
        points = _along(rows.swapaxes(0, 1), xs.reshape(-1)).swapaxes(0, 1)
        bins = points.reshape(height, ys.shape[1], width, xs.shape[1], -1)
        result[at] = bins.mean(axis=(1, 3))
    return [to_layout(result, nchw)]


def _samples(low: float, high: float, bins: int, samples: int) -> Array:
    """[bins, samples]: places, spread evenly over each bin. A region is at least a pixel high; as
    many samples as pixels of the feature map where their number is not given."""
    extent = max(high - low, 1)
    samples = samples or int(np.ceil(extent / bins))
    step = extent / bins / samples
    places = low + (np.arange(bins * samples) + 0.5) * step
    return np.asarray(places.reshape(bins, samples))


def _along(values: Array, places: Array) -> Array:
    """Linear interpolation along the first axis. Up to a pixel beyond an edge lies what is at the
    edge; further off there are zeros."""
    last = len(values) - 1
    inside = np.clip(places, 0, last)
    lower = np.minimum(np.floor(inside).astype(int), last)
    upper = np.minimum(lower + 1, last)
    weight = (inside - lower)[:, np.newaxis, np.newaxis]
    near = ((places >= -1) & (places <= len(values)))[:, np.newaxis, np.newaxis]
    return np.asarray((values[lower] * (1 - weight) + values[upper] * weight) * near)


@operation("ROI_POOLING")
def roi_pooling(call: Call) -> Sequence[Array]:
    """The largest element of each bin. Regions and bins are rounded to whole elements; a bin that
    has none is 0."""
    nchw = call.flag("layout")
    features, regions = from_layout(call.real("input"), nchw), call.real("boxes")
    batches = call.tensor("batches").stored
    height, width = call.integer("output_height"), call.integer("output_width")
    ratios = (call.number("height_ratio"), call.number("width_ratio"))
    result = np.zeros((len(regions), height, width, features.shape[3]))
    for at, (x1, y1, x2, y2) in enumerate(regions):
        feature = features[batches[at]]
        rows = _bins(y1 / ratios[0], y2 / ratios[0], height, feature.shape[0])
        columns = _bins(x1 / ratios[1], x2 / ratios[1], width, feature.shape[1])
        for y, x in np.ndindex(height, width):
            cell = feature[rows[y], columns[x]]
            result[at, y, x] = cell.max(axis=(0, 1)) if cell.size else 0
    return [to_layout(result, nchw)]


def _bins(low: float, high: float, count: int, extent: int) -> list[slice]:
    """The elements from the rounded low to the rounded high, both included, cut into bins that
    overlap where it does not come out even."""
    first, last = (int(np.floor(value + 0.5)) for value in (low, high))
    step = max(last - first + 1, 1) / count
    found = []
    for at in range(count):
        start = min(max(first + int(np.floor(at * step)), 0), extent)
        stop = min(max(first + int(np.ceil((at + 1) * step)), 0), extent)
        found.append(slice(start, stop))
    return found
