# SPDX-License-Identifier: Apache-2.0
"""From type to type: saturation, halves, infinities."""

from __future__ import annotations

import numpy as np

from halyard.model import TensorType
from tests.random_models.sketch import (
    ASYMM16,
    B8,
    BYTES,
    CHANNELS,
    F32,
    FLOATS,
    I32,
    SYMM8,
    SYMM16,
    RandomCase,
    Sketch,
    generator,
    like,
)


@generator("QUANTIZE")
def quantize(sketch: Sketch) -> RandomCase:
    """Multiples of half a step come often, and what lies far beyond the range."""
    data = sketch.type_of(sketch.pick(FLOATS), sketch.shape(1, 5))
    output = sketch.type_of(sketch.pick(BYTES), ())
    steps = sketch.source.integers(-600, 600, data.dimensions) / 2
    values = steps * output.scale
    if sketch.chance(0.3):
        values.flat[0] = sketch.pick((np.inf, -np.inf, 1e30, -1e30))
    with np.errstate(over="ignore"):
        stored = values.astype("<f4" if data.type == F32 else "<f2")
    return sketch.finish([sketch.tensor(data, stored)], output)


@generator("DEQUANTIZE")
def dequantize(sketch: Sketch) -> RandomCase:
    shape = sketch.shape(1, 4)
    operand_type = sketch.pick((*BYTES, SYMM8, CHANNELS))
    output = TensorType(sketch.pick(FLOATS), ())
    if operand_type != CHANNELS:
        return sketch.finish([sketch.tensor(sketch.type_of(operand_type, shape))], output)
    dim = sketch.integer(0, len(shape) - 1)
    scales = tuple(float(np.float32(sketch.source.uniform(0.01, 2))) for _ in range(shape[dim]))
    data = TensorType(CHANNELS, shape, channel_scales=scales, channel_dim=dim)
    return sketch.finish([sketch.tensor(data)], output)


@generator("CAST")
def cast(sketch: Sketch) -> RandomCase:
    """Of a type to itself from 1.3 on, which every type can be."""
    common = (*FLOATS, I32, BYTES[0])
    if sketch.chance(0.3):
        data = sketch.type_of(sketch.pick((*common, B8, BYTES[1], SYMM8, SYMM16, ASYMM16)), ())
        data = like(data, sketch.shape(1, 5))
        return sketch.finish([sketch.tensor(data)], like(data))
    data = sketch.type_of(sketch.pick(common), sketch.shape(1, 5))
    output = sketch.type_of(sketch.pick(common), ())
    values = sketch.stored(data)
    if data.type in FLOATS:
        # With fractions, and beyond what a byte can hold.
        values = values * sketch.pick((1, 10, 100))
    return sketch.finish([sketch.tensor(data, values)], output)
