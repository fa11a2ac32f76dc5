# SPDX-License-Identifier: Apache-2.0
"""Boxes, regions, heatmaps, draws and hashes. Coordinates are multiples of 1/8, which is the step
of quantised boxes, and scores are apart, from each other and from thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array, TensorType
from tests.random_models.sketch import (
    ASYMM16,
    BYTES,
    F16,
    F32,
    FLOATS,
    I32,
    SYMM16,
    RandomCase,
    Sketch,
    generator,
    like,
)

_BOX_STEP = 0.125


def _float(operand_type: int, values: Array) -> Array:
    return values.astype(np.float16 if operand_type == F16 else np.float32)


def _boxes(sketch: Sketch, count: int, extent: int) -> Array:
    """[x1, y1, x2, y2] within a square."""
    corners = sketch.source.integers(0, extent * 8, (count, 2, 2), endpoint=True) * _BOX_STEP
    corners = np.sort(corners, axis=1)
    corners[:, 1] += _BOX_STEP
    return np.asarray(corners.reshape(count, 4))


def _box_type(data: TensorType, shape: Sequence[int]) -> TensorType:
    if data.type in FLOATS:
        return TensorType(data.type, tuple(shape))
    return TensorType(ASYMM16, tuple(shape), _BOX_STEP, 0)


def _box_tensor(sketch: Sketch, data: TensorType, boxes: Array, **options: bool) -> int:
    tensor = _box_type(data, boxes.shape)
    stored = boxes / _BOX_STEP if tensor.type == ASYMM16 else _float(data.type, boxes)
    return sketch.tensor(tensor, stored, **options)


def _batches(sketch: Sketch, count: int, batches: int) -> int:
    numbers = np.sort(sketch.source.integers(0, batches, count))
    return sketch.tensor(TensorType(I32, (count,)), numbers)


def _scores(sketch: Sketch, operand_type: int, shape: Sequence[int]) -> tuple[TensorType, Array]:
    """No two of a tensor are equal, as far as the type allows."""
    count = int(np.prod(shape))
    if operand_type in BYTES:
        low = -128 if operand_type == BYTES[1] else 0
        # None is 0, which thresholds may be.
        values = low + 1 + sketch.source.choice(255, count, replace=count > 255)
        tensor = TensorType(operand_type, tuple(shape), 1 / 256, low)
        return tensor, values.reshape(shape)
    order = sketch.source.permutation(count).reshape(shape)
    return TensorType(operand_type, tuple(shape)), _float(operand_type, (order + 1) / (count + 1))


def _features(sketch: Sketch, nchw: bool, batches: int) -> tuple[TensorType, tuple[int, int]]:
    height, width, depth = (sketch.integer(2, 7) for _ in range(3))
    shape = (batches, depth, height, width) if nchw else (batches, height, width, depth)
    return sketch.type_of(sketch.pick((*FLOATS, *BYTES)), shape), (height, width)


def _inner(extents: tuple[int, int], ratios: Sequence[float]) -> int:
    """A square that the image holds, and the last step of a box."""
    return int(min(extent * ratio for extent, ratio in zip(extents, ratios, strict=True))) - 1


@generator("ROI_ALIGN", "ROI_POOLING")
def regions(sketch: Sketch) -> RandomCase:
    nchw, batches, count = sketch.chance(0.4), sketch.integer(1, 3), sketch.integer(1, 5)
    data, extents = _features(sketch, nchw, batches)
    ratios = [sketch.pick((1.0, 2.0, 4.0)) for _ in range(2)]
    inputs = [
        sketch.tensor(data),
        # A region for pooling lies within the image.
        _box_tensor(sketch, data, _boxes(sketch, count, _inner(extents, ratios))),
        _batches(sketch, count, batches),
        *(sketch.integer_scalar(sketch.integer(1, 4)) for _ in range(2)),
        *(sketch.number(data.type, ratio) for ratio in ratios),
    ]
    align = sketch.operation == "ROI_ALIGN"
    if align:
        inputs += [sketch.integer_scalar(sketch.integer(0, 3)) for _ in range(2)]
    inputs.append(sketch.flag(nchw))
    return sketch.finish(inputs, like(data), fit=[0] if align and data.type in BYTES else [])


@generator("AXIS_ALIGNED_BBOX_TRANSFORM")
def axis_aligned_bbox_transform(sketch: Sketch) -> RandomCase:
    count, classes, batches = (sketch.integer(1, 4) for _ in range(3))
    operand_type = sketch.pick((F32, F16, BYTES[0], BYTES[1]))
    data = sketch.type_of(operand_type, ())
    quantized = operand_type in BYTES
    deltas = (
        TensorType(operand_type, (count, 4 * classes), 0.03125, -3 if operand_type > 5 else 125)
        if quantized
        else TensorType(operand_type, (count, 4 * classes))
    )
    sizes = _float(F32, sketch.source.integers(8, 40, (batches, 2)))
    size_type = _box_type(data, (batches, 2))
    inputs = [
        _box_tensor(sketch, data, _boxes(sketch, count, 20)),
        sketch.tensor(deltas)
        if quantized
        else sketch.tensor(deltas, _float(operand_type, sketch.grid(deltas.dimensions, 1))),
        _batches(sketch, count, batches),
        sketch.tensor(size_type, sizes / (_BOX_STEP if quantized else 1)),
    ]
    return sketch.finish(inputs, _box_type(data, ()))


@generator("BOX_WITH_NMS_LIMIT")
def box_with_nms_limit(sketch: Sketch) -> RandomCase:
    count, classes, batches = sketch.integer(1, 8), sketch.integer(2, 4), sketch.integer(1, 3)
    # Scores that shrink in a quantised form would be rounded anew at each step.
    kernel = sketch.integer(0, 2)
    operand_type = sketch.pick((F32, F32, F16, *BYTES)) if kernel == 0 else F32
    data, scores = _scores(sketch, operand_type, (count, classes))
    boxes = _boxes(sketch, count * classes, 10).reshape(count, classes * 4)
    inputs = [
        sketch.tensor(data, scores),
        _box_tensor(sketch, data, boxes),
        _batches(sketch, count, batches),
        sketch.number(operand_type, sketch.pick((0.0, 0.3045, 0.5045))),
        sketch.integer_scalar(sketch.pick((-1, 1, 2, 5, 100))),
        sketch.integer_scalar(kernel),
        sketch.number(operand_type, sketch.pick((0.2, 0.4, 0.7))),
        sketch.number(operand_type, 0.5),
        sketch.number(operand_type, sketch.pick((0.0, 0.2))),
    ]
    numbers = TensorType(I32, ())
    return sketch.finish(inputs, like(data), _box_type(data, ()), numbers, numbers, unordered=True)


@generator("GENERATE_PROPOSALS")
def generate_proposals(sketch: Sketch) -> RandomCase:
    nchw, batches = sketch.chance(0.4), sketch.integer(1, 2)
    height, width, anchors = (sketch.integer(1, 4) for _ in range(3))
    operand_type = sketch.pick((F32, F32, *BYTES))

    def shape(depth: int) -> tuple[int, ...]:
        return (batches, depth, height, width) if nchw else (batches, height, width, depth)

    data, scores = _scores(sketch, operand_type, shape(anchors))
    quantized = operand_type in BYTES
    deltas = TensorType(operand_type, shape(anchors * 4))
    if quantized:
        deltas = TensorType(operand_type, deltas.dimensions, 1 / 64, 3)
    shapes = _boxes(sketch, anchors, 6) - 3
    sizes = sketch.source.integers(8, 30, (batches, 2)).astype(np.float64)
    anchor = TensorType(SYMM16, (), _BOX_STEP) if quantized else TensorType(operand_type, ())
    step = _BOX_STEP if quantized else 1
    inputs = [
        sketch.tensor(data, scores),
        sketch.tensor(deltas)
        if quantized
        else sketch.tensor(deltas, _float(operand_type, sketch.grid(deltas.dimensions, 0.5))),
        sketch.tensor(like(anchor, shapes.shape), shapes / step),
        sketch.tensor(_box_type(data, sizes.shape), sizes / step),
        *(sketch.number(operand_type, sketch.pick((2.0, 4.0))) for _ in range(2)),
        sketch.integer_scalar(sketch.pick((-1, 0, 4, 20))),
        sketch.integer_scalar(sketch.pick((-1, 0, 2, 8))),
        sketch.number(operand_type, sketch.pick((0.2, 0.5, 0.7))),
        sketch.number(operand_type, sketch.pick((0.53, 1.03))),
        sketch.flag(nchw),
    ]
    return sketch.finish(
        inputs, like(data), _box_type(data, ()), TensorType(I32, ()), unordered=True
    )


@generator("DETECTION_POSTPROCESSING")
def detection_postprocessing(sketch: Sketch) -> RandomCase:
    batches, count, classes = sketch.integer(1, 2), sketch.integer(1, 6), sketch.integer(2, 4)
    operand_type = F32
    data, scores = _scores(sketch, operand_type, (batches, count, classes))
    length = sketch.integer(4, 7)
    anchors = sketch.source.integers(1, 40, (count, 4)) / 8
    inputs = [
        sketch.tensor(data, scores),
        sketch.tensor(
            TensorType(operand_type, (batches, count, length)),
            _float(operand_type, sketch.grid((batches, count, length), 2)),
        ),
        sketch.tensor(TensorType(operand_type, (count, 4)), _float(operand_type, anchors)),
        *(sketch.number(operand_type, value) for value in (8.0, 8.0, 4.0, 4.0)),
        sketch.flag(sketch.chance()),
        sketch.integer_scalar(sketch.integer(1, 8)),
        sketch.integer_scalar(sketch.integer(1, classes - 1)),
        sketch.integer_scalar(sketch.integer(1, 4)),
        sketch.number(operand_type, sketch.pick((0.0, 0.3045))),
        sketch.number(operand_type, sketch.pick((0.3, 0.6))),
        sketch.flag(sketch.chance()),
    ]
    whole = TensorType(I32, ())
    return sketch.finish(inputs, like(data), TensorType(operand_type, ()), whole, whole)


@generator("HEATMAP_MAX_KEYPOINT")
def heatmap_max_keypoint(sketch: Sketch) -> RandomCase:
    nchw, count = sketch.chance(0.4), sketch.integer(1, 3)
    size, keypoints = sketch.integer(2, 6), sketch.integer(1, 4)
    shape = (count, keypoints, size, size) if nchw else (count, size, size, keypoints)
    operand_type = sketch.pick((F32, *BYTES))
    data, heats = _scores(sketch, operand_type, shape)
    inputs = [
        sketch.tensor(data, heats),
        _box_tensor(sketch, data, _boxes(sketch, count, 20)),
        sketch.flag(nchw),
    ]
    fit = [0] if operand_type in BYTES else []
    return sketch.finish(inputs, like(data), _box_type(data, ()), fit=fit)


@generator("RANDOM_MULTINOMIAL")
def random_multinomial(sketch: Sketch) -> RandomCase:
    """The values drawn are the driver's own; their count is not."""
    batch, classes = sketch.integer(1, 4), sketch.integer(1, 6)
    data = TensorType(sketch.pick(FLOATS), (batch, classes))
    inputs = [
        sketch.tensor(data),
        sketch.integer_scalar(sketch.integer(1, 20)),
        sketch.vector([sketch.integer(0, 1000), sketch.integer(0, 1000)]),
    ]
    return sketch.finish(inputs, TensorType(I32, ()), ignored=[0])


@generator("LSH_PROJECTION")
def lsh_projection(sketch: Sketch) -> RandomCase:
    functions, bits, count = sketch.integer(1, 4), sketch.integer(1, 8), sketch.integer(1, 5)
    data = sketch.type_of(sketch.pick((I32, F32)), (count, sketch.integer(1, 12)))
    seeds = TensorType(F32, (functions, bits))
    inputs = [sketch.tensor(seeds, sketch.source.normal(size=(functions, bits)))]
    inputs.append(sketch.tensor(data))
    if sketch.chance():
        inputs.append(sketch.tensor(TensorType(F32, (count,))))
    else:
        inputs.append(sketch.omitted(F32))
    inputs.append(sketch.integer_scalar(sketch.pick((2, 3))))
    return sketch.finish(inputs, TensorType(I32, ()))
