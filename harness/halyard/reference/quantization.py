# SPDX-License-Identifier: Apache-2.0
"""To quantised values and back, and from one type to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array, dtype_of
from halyard.proto import halyard_pb2 as pb
from halyard.reference.tensor import Call, Raw, operation


@operation("QUANTIZE")
def quantize(call: Call) -> Sequence[Raw]:
    """max(0, min(255, round(input / scale) + zeroPoint)), with C's round: halves go away from zero;
    -128 and 127 where the type is signed."""
    [output] = call.outputs
    limits = np.iinfo(dtype_of(output.type))
    steps = call.real("input") / output.scale
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    stored = np.clip(rounded + output.zero_point, limits.min, limits.max)
    return [Raw(np.nan_to_num(stored, nan=0))]


@operation("DEQUANTIZE")
def dequantize(call: Call) -> Sequence[Array]:
    return [call.real("input")]


@operation("CAST")
def cast(call: Call) -> Sequence[Raw]:
    """Scales and zero points are ignored: stored values are cast. Fractions are dropped, and 8-bit
    types saturate."""
    [output] = call.outputs
    source = call.tensor("input")
    target = dtype_of(output.type)
    if source.type == output.type:
        return [Raw(source.stored)]
    if output.type in (pb.OPERAND_TYPE_TENSOR_FLOAT16, pb.OPERAND_TYPE_TENSOR_FLOAT32):
        return [Raw(source.stored.astype(target))]
    limits = np.iinfo(target)
    whole = np.trunc(source.stored.astype(np.float64))
    return [Raw(np.clip(whole, limits.min, limits.max).astype(target))]
