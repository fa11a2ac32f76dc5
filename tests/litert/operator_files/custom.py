# SPDX-License-Identifier: Apache-2.0
"""Custom operators: the detections that LiteRT has built in, and MediaPipe's."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from halyard.model import Array
from tests.litert.operator_files.case import Case, Draft
from tests.random_tflite.sketch import Value

_ANCHORS, _CLASSES = 12, 4
_DETECTION = "TFLite_Detection_PostProcess"


def _detection(of: Draft, dtype: str = "float32", background: int = 1, **changed: Any) -> None:
    options: dict[str, Any] = {
        "max_detections": 5,
        "max_classes_per_detection": 1,
        "detections_per_class": 4,
        "use_regular_nms": False,
        "num_classes": _CLASSES,
        "nms_score_threshold": 0.2,
        "nms_iou_threshold": 0.5,
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    } | changed
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            kinds = {bool: builder.Bool, int: builder.Int, float: builder.Float}
            kinds[type(value)](value)
    scores = (1, _ANCHORS, _CLASSES + background)
    steps = of.random.permutation(np.prod(scores))
    centres = of.random.uniform(0.1, 0.9, (_ANCHORS, 2))
    sizes = of.random.uniform(0.05, 0.2, (_ANCHORS, 2))
    anchors = np.concatenate([centres, sizes], 1)
    if dtype == "uint8":
        given = [
            of.given((1, _ANCHORS, 4), dtype, like=Value(0, (), dtype, 0.02, 128)),
            of.given(
                scores,
                dtype,
                (steps * 4 % 256).reshape(scores).astype(dtype),
                Value(0, (), dtype, 1 / 256, 0),
            ),
            of.constant(np.round(anchors * 250).astype(dtype), Value(0, (), dtype, 0.004, 0)),
        ]
    else:
        chances = (steps + 0.5) / steps.size
        given = [
            of.given((1, _ANCHORS, 4), dtype),
            of.given(scores, dtype, chances.reshape(scores).astype(dtype)),
            of.constant(anchors.astype(np.float32)),
        ]
    outputs = [of.result("float32") for _ in range(4)]
    of.custom(_DETECTION, given, outputs, bytes(builder.Finish()))


def _detections() -> Iterator[Case]:
    def case(label: str, **changed: Any) -> Case:
        return Case(_DETECTION, label, partial(_detection, **changed))

    yield case("plain")
    yield case("uint8", dtype="uint8")
    yield case("no-background", background=0)
    yield case("classes", max_classes_per_detection=2)
    yield case("classes-no-background", background=0, max_classes_per_detection=3)
    yield case("regular", use_regular_nms=True)
    yield case("regular-per-class", use_regular_nms=True, detections_per_class=1)
    yield case("most", max_detections=3)
    for name, value in {
        "nms_score_threshold": 0.7,
        "nms_iou_threshold": 0.1,
        "y_scale": 4.0,
        "x_scale": 2.0,
        "h_scale": 1.5,
        "w_scale": 3.0,
    }.items():
        yield case(name.replace("_", "-"), **{name: value})


def _media(
    of: Draft,
    kind: str,
    numbers: Sequence[int],
    shapes: Sequence[Sequence[int]],
    result: Sequence[int],
    outputs: int = 1,
) -> None:
    inputs = [of.given(tuple(shapes[0]), "float32")]
    if kind == "MaxUnpooling2D":
        places = np.asarray(of.random.integers(0, 4, shapes[1])) + 0.1
        inputs.append(of.given(tuple(shapes[1]), "float32", places.astype(np.float32)))
    else:
        inputs += [of.constant(of.numbers(tuple(each), "float32")) for each in shapes[1:]]
    found = [of.result("float32") for _ in range(outputs)]
    for each in found:
        of.graph.tensors[each.index].shape = list(result)
    of.custom(kind, inputs, found, struct.pack(f"<{len(numbers)}i", *numbers))


def _pooled(
    image: Array, padding: int, strides: tuple[int, int], size: tuple[int, int]
) -> list[Array]:
    """The largest of each window, and where it is: of equals the first, a tenth added."""
    before, counts = [], []
    for extent, stride, each in zip(image.shape[1:3], strides, size, strict=True):
        count = -(-extent // stride) if padding == 1 else (extent - each) // stride + 1
        pad = max(0, (count - 1) * stride + each - extent) if padding == 1 else 0
        before.append(pad // 2)
        counts.append(count)
    shape = (image.shape[0], *counts, image.shape[3])
    values, places = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.float32)
    for at in np.ndindex(*shape):
        for place, (row, column) in enumerate(np.ndindex(*size)):
            y = at[1] * strides[0] - before[0] + row
            x = at[2] * strides[1] - before[1] + column
            if not (0 <= y < image.shape[1] and 0 <= x < image.shape[2]):
                continue
            if image[at[0], y, x, at[3]] > values[at]:
                values[at], places[at] = image[at[0], y, x, at[3]], place + 0.1
    return [values, places]


def _pool(feed: list[Array], **how: Any) -> list[Array]:
    return _pooled(feed[0], **how)


def _unpool(feed: list[Array]) -> list[Array]:
    values, places = feed
    batch, height, width, depth = values.shape
    found = np.zeros((batch, 2 * height, 2 * width, depth), np.float32)
    for at in np.ndindex(*values.shape):
        row, column = divmod(int(places[at]), 2)
        found[at[0], 2 * at[1] + row, 2 * at[2] + column, at[3]] = values[at]
    return [found]


def _mediapipe() -> Iterator[Case]:
    """Padding (1 is SAME, 2 is VALID), strides (width, height), and of a pool the window."""
    for padding, name in ((1, "same"), (2, "valid")):
        for wide, high in ((1, 1), (2, 2), (2, 3)):
            result = (4 * high, 6 * wide) if padding == 1 else (3 * high + 3, 5 * wide + 3)
            yield Case(
                "Convolution2DTransposeBias",
                f"{name}-{high}x{wide}",
                partial(
                    _media,
                    kind="Convolution2DTransposeBias",
                    numbers=(padding, wide, high),
                    shapes=((1, 4, 6, 3), (5, 3, 3, 3), (5,)),
                    result=(1, *result, 5),
                ),
                by_xnnpack=True,
            )
        for wide, high in ((2, 2), (1, 2), (3, 1)):
            size = (2, 3)
            yield Case(
                "MaxPoolingWithArgmax2D",
                f"{name}-{high}x{wide}",
                partial(
                    _media,
                    kind="MaxPoolingWithArgmax2D",
                    numbers=(padding, wide, high, size[1], size[0], 0),
                    shapes=((2, 5, 7, 3),),
                    result=_pooled(np.zeros((2, 5, 7, 3)), padding, (high, wide), size)[0].shape,
                    outputs=2,
                ),
                computed=partial(_pool, padding=padding, strides=(high, wide), size=size),
            )
        yield Case(
            "MaxUnpooling2D",
            name,
            partial(
                _media,
                kind="MaxUnpooling2D",
                numbers=(padding, 2, 2, 2, 2, 0),
                shapes=((1, 3, 4, 2), (1, 3, 4, 2)),
                result=(1, 6, 8, 2),
            ),
            computed=_unpool,
        )


def cases() -> Iterator[Case]:
    yield from _detections()
    yield from _mediapipe()
