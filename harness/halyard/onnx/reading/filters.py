# SPDX-License-Identifier: Apache-2.0
"""The constants of convolutions and GEMMs: filters and biases, of 8 bits too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType, dtype_of
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.quantities import Quantization, Weights
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class Filter:
    """Values in ONNX's order, in the type of an operand. No scales: they are real. Several: one for
    each output."""

    type: int
    values: Array
    scales: tuple[float, ...] = ()
    zero_point: int = 0

    @property
    def is_per_channel(self) -> bool:
        return self.type == pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL

    def tensor(self, dims: Sequence[int], channel_dim: int) -> TensorType:
        if self.is_per_channel:
            return TensorType(
                self.type, tuple(dims), channel_scales=self.scales, channel_dim=channel_dim
            )
        scale = self.scales[0] if self.scales else 0.0
        return TensorType(self.type, tuple(dims), scale, self.zero_point)


def is_legal_gemm(inputs: Sequence[Quantization], output: Quantization) -> bool:
    return len(inputs) == 1 and output.scale > 0


def quantized_filter(held: Weights, data: Quantization, axis: int) -> Filter | None:
    """Whole numbers for 8-bit data, whose outputs are along the axis. None where NNAPI has no type
    for them."""
    values, zero_points = held.values, held.zero_points
    if values.dtype == np.uint8:
        values, zero_points = values.astype(np.int16) - 128, zero_points - 128
    elif values.dtype != np.int8:
        return None
    scales = tuple(float(each) for each in held.scales)
    if len(scales) == 1 and len(set(zero_points)) == 1:
        if data.is_signed:
            return Filter(data.type, values, scales, int(zero_points[0]))
        if zero_points[0] != 0 or held.values.dtype == np.uint8:
            return Filter(
                data.type, values.astype(np.int16) + 128, scales, int(zero_points[0]) + 128
            )
    if zero_points.any() or (len(scales) > 1 and held.axis != axis):
        return None
    if len(scales) == 1:
        scales *= values.shape[axis]
    return Filter(pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL, values, scales)


def bias_operand(mapper: Mapper, name: str, values: Array, data: int, filters: Filter) -> int:
    """From real values, in steps of the scales of data and filter where those are of 8 bits."""
    if not filters.scales:
        dtype = dtype_of(filters.type)
        return mapper.builder.constant(
            name, TensorType(filters.type, values.shape), values.astype(dtype)
        )
    scale = np.float32(mapper.builder.operand(data).scale)
    steps = scale * np.asarray(filters.scales, np.float32)
    whole = np.rint(values.astype(np.float64) / steps.astype(np.float64))
    limits = np.iinfo(np.int32)
    if not np.isfinite(whole).all() or whole.min() < limits.min or whole.max() > limits.max:
        raise NotExpressible("its bias does not go into INT32 in the scale of the accumulators")
    tensor = TensorType(
        pb.OPERAND_TYPE_TENSOR_INT32,
        values.shape,
        0.0 if filters.is_per_channel else float(steps[0]),
    )
    return mapper.builder.constant(name, tensor, whole.astype(np.int32))
