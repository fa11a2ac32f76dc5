# SPDX-License-Identifier: Apache-2.0
"""Normalisations and resizing: axes from both ends, both layouts, sizes and factors."""

from __future__ import annotations

from halyard.model import TensorType
from tests.random_models.sketch import (
    BYTES,
    FLOATS,
    S8,
    RandomCase,
    Sketch,
    generator,
    like,
)


@generator("L2_NORMALIZATION")
def l2_normalization(sketch: Sketch) -> RandomCase:
    data = sketch.type_of(sketch.pick((*FLOATS, *BYTES)), sketch.shape(1, 4))
    inputs = [sketch.tensor(data)]
    if sketch.chance(0.7):
        inputs.append(sketch.integer_scalar(sketch.axis(len(data.dimensions))))
    output = like(data)
    if data.type in BYTES:
        output = TensorType(data.type, (), 1 / 128, 0 if data.type == S8 else 128)
    return sketch.finish(inputs, output)


@generator("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(sketch: Sketch) -> RandomCase:
    data = sketch.type_of(sketch.pick(FLOATS), sketch.shape(1, 4))
    inputs = [sketch.tensor(data), sketch.integer_scalar(sketch.integer(0, 8))]
    for value in (sketch.pick((1.0, 2.0, 9.0)), sketch.pick((0.0, 0.5, 4.0)), 0.5):
        inputs.append(sketch.number(data.type, value))  # noqa: PERF401
    if sketch.chance(0.7):
        inputs.append(sketch.integer_scalar(sketch.axis(len(data.dimensions))))
    return sketch.finish(inputs, like(data))


@generator("INSTANCE_NORMALIZATION")
def instance_normalization(sketch: Sketch) -> RandomCase:
    """Whole numbers, whose sums are exact."""
    data = sketch.type_of(sketch.pick(FLOATS), sketch.shape(4, 4, 5))
    values = sketch.grid(data.dimensions, 8, 1)
    inputs = [sketch.tensor(data, values)]
    for value in (sketch.pick((1.0, -2.0)), sketch.pick((0.0, 3.0)), sketch.pick((0.01, 1.0))):
        inputs.append(sketch.number(data.type, value))  # noqa: PERF401
    return sketch.finish([*inputs, sketch.flag(sketch.chance())], like(data))


@generator("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(sketch: Sketch) -> RandomCase:
    """Sizes between which all places are exact in float32 for the nearest neighbour, whose choice a
    rounding would turn; images so small that a place's rounding stays within the tolerance."""
    nearest = sketch.operation == "RESIZE_NEAREST_NEIGHBOR"
    data = sketch.type_of(
        sketch.pick((*FLOATS, *BYTES)), [min(extent, 8) for extent in sketch.shape(4, 4, 7)]
    )
    nchw = sketch.chance(0.4)
    align, half = sketch.pick(((False, False), (True, False), (False, True)))
    inputs = [sketch.tensor(data)]
    height, width = data.dimensions[2:] if nchw else data.dimensions[1:3]
    if sketch.chance(0.7):
        for extent in (width, height):
            size = extent * sketch.pick((1, 2, 4)) if nearest else sketch.integer(1, 9)
            if nearest and align:
                size = (extent - 1) * sketch.pick((1, 2, 4)) + 1
            inputs.append(sketch.integer_scalar(size))
    else:
        align = align and not nearest
        for _ in range(2):
            inputs.append(sketch.number(data.type, sketch.pick((1.0, 2.0, 4.0))))  # noqa: PERF401
    flags = [nchw, align, half]
    # The nearest neighbour always says its layout.
    while len(flags) > nearest and not flags[-1] and sketch.chance(0.7):
        flags.pop()
    return sketch.finish([*inputs, *(sketch.flag(flag) for flag in flags)], like(data))
