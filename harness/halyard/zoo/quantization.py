# SPDX-License-Identifier: Apache-2.0
"""Turns a float32 model into a quantised one of the same operations, after calibration.

Two schemes, both as TFLite's converter makes them:
  UNSIGNED  QUANT8_ASYMM everywhere, one scale per filter. HAL 1.0 carries the result.
  SIGNED    QUANT8_ASYMM_SIGNED, filters of convolutions QUANT8_SYMM_PER_CHANNEL. From HAL 1.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import (
    Array,
    ModelBuilder,
    TensorType,
    constant,
    is_constant,
    is_tensor,
    label,
)
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import forward, images


@dataclass(frozen=True)
class Scheme:
    activations: pb.OperandType
    low: int
    high: int
    filters_per_channel: bool

    def fixed(self, scale: float, lowest: int) -> tuple[float, int]:
        """Scale and zero point so that `low` stands for lowest * scale."""
        return scale, self.low - lowest


UNSIGNED = Scheme(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, 0, 255, filters_per_channel=False)
SIGNED = Scheme(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, -128, 127, filters_per_channel=True)


# Calibration sees few images; others go somewhat beyond what those reach.
_HEADROOM = 1.15


@dataclass(frozen=True)
class Observed:
    """What calibration saw of a tensor: its range, and the mean of each channel."""

    low: float
    high: float
    channel_means: Array


# The filter's channel dimension per operation, with its filter at input 1 and its bias at 2.
_CHANNEL_DIM: dict[int, int] = {
    pb.OPERATION_TYPE_CONV_2D: 0,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: 3,
    pb.OPERATION_TYPE_FULLY_CONNECTED: 0,
}
# Operations whose output NNAPI wants quantised as their input.
_SAME_QUANTIZATION = frozenset(
    {
        pb.OPERATION_TYPE_AVERAGE_POOL_2D,
        pb.OPERATION_TYPE_MAX_POOL_2D,
        pb.OPERATION_TYPE_RESHAPE,
    }
)
_COVERED = _SAME_QUANTIZATION | frozenset(
    {*_CHANNEL_DIM, pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL, pb.OPERATION_TYPE_SOFTMAX}
)


def calibrate(model: pb.Model, inputs: Sequence[Array]) -> dict[int, Observed]:
    """What each tensor of the float model holds over the inputs, by operand index."""
    observed: dict[int, Observed] = {}
    for number, array in enumerate(inputs):
        for index, values in forward.run(model, [array]).items():
            low, high = float(values.min()), float(values.max())
            means = values.mean(axis=tuple(range(values.ndim - 1)), dtype=np.float64)
            before = observed.get(index)
            if before is not None:
                low, high = min(low, before.low), max(high, before.high)
                means = (before.channel_means * number + means) / (number + 1)
            observed[index] = Observed(low, high, means)
    return observed


def quantize(model: pb.Model, observed: Mapping[int, Observed], scheme: Scheme) -> pb.Model:
    """The quantised model. ValueError for an operation that no scheme covers.

    Rounding the weights shifts the mean of what they produce, which adds up over the layers; each
    bias takes the shift back that the observed means lead to expect.
    """
    return _Quantizer(model, observed, scheme).run()


class _Quantizer:
    def __init__(self, model: pb.Model, observed: Mapping[int, Observed], scheme: Scheme) -> None:
        self._source = model
        self._observed = observed
        self._scheme = scheme
        self._builder = ModelBuilder(model.name)
        # From operands of the source to those of the result.
        self._operands: dict[int, int] = {}

    def run(self) -> pb.Model:
        main = self._source.main
        for index in main.input_indexes:
            operand = main.operands[index]
            quantization = self._scheme.fixed(images.INPUT_SCALE, -images.INPUT_ZERO_POINT)
            tensor = self._activation(operand, quantization)
            self._operands[index] = self._builder.input(operand.name, tensor)
        for number, operation in enumerate(main.operations):
            inputs = self._inputs(number, operation)
            written = operation.outputs[0]
            output = main.operands[written]
            tensor = self._activation(output, self._output(operation, inputs))
            self._operands[written] = self._builder.operation(
                operation.type, inputs, output.name, tensor
            )
        return self._builder.build([self._operands[index] for index in main.output_indexes])

    def _activation(self, operand: pb.Operand, quantization: tuple[float, int]) -> TensorType:
        return TensorType(self._scheme.activations, tuple(operand.dimensions), *quantization)

    def _output(self, operation: pb.Operation, inputs: Sequence[int]) -> tuple[float, int]:
        """Scale and zero point of the operation's output."""
        data = self._builder.operand(inputs[0])
        if operation.type in _SAME_QUANTIZATION:
            return data.scale, data.zero_point
        if operation.type == pb.OPERATION_TYPE_SOFTMAX:
            return self._scheme.fixed(1 / 256, 0)
        finest = 0.0
        if operation.type in _CHANNEL_DIM and not self._scheme.filters_per_channel:
            # HAL 1.0 and 1.1: the output's scale is larger than that of the sums.
            product = np.float32(data.scale) * np.float32(self._builder.operand(inputs[1]).scale)
            finest = float(np.nextafter(product, np.float32(np.inf)))
        seen = self._observed[operation.outputs[0]]
        low, high = seen.low * _HEADROOM, seen.high * _HEADROOM
        return affine(low, high, self._scheme.low, self._scheme.high, finest)

    # ---- inputs of operations -------------------------------------------------------------------

    def _inputs(self, number: int, operation: pb.Operation) -> list[int]:
        if operation.type not in _COVERED:
            raise ValueError(f"{label(self._source, number)} is not quantised by any scheme")
        if operation.type not in _CHANNEL_DIM:
            return [self._plain(index) for index in operation.inputs]
        source_data, source_weights, source_bias, *arguments = operation.inputs
        operand = self._source.main.operands[source_weights]
        values = constant(self._source, operand)
        tensor, steps = self._weights(operation.type, values)
        shift = _mean_shift(
            operation.type,
            _real(tensor, steps) - values,
            self._observed[source_data].channel_means,
        )
        data = self._plain(source_data)
        weights = self._builder.constant(operand.name, tensor, steps)
        bias = self._bias(source_bias, shift, self._builder.operand(data), tensor)
        return [data, weights, bias, *map(self._plain, arguments)]

    def _plain(self, index: int) -> int:
        """An activation, which is there already, or an argument, which stays as it is."""
        operand = self._source.main.operands[index]
        if not is_constant(operand):
            return self._operands[index]
        values = constant(self._source, operand)
        if is_tensor(operand.type):
            return self._builder.constant(
                operand.name, TensorType(operand.type, tuple(operand.dimensions)), values
            )
        return self._builder.scalar(operand.type, values.item())

    def _weights(self, operation: int, values: Array) -> tuple[TensorType, Array]:
        activations = self._scheme.activations
        if not self._scheme.filters_per_channel:
            # The value 0 stays unused, as in TFLite's narrow range.
            scale, zero_point = affine(float(values.min()), float(values.max()), 1, 255)
            tensor = TensorType(activations, values.shape, scale, zero_point)
            steps = np.rint(values / np.float32(scale)) + zero_point
            return tensor, np.clip(steps, 1, 255).astype(np.uint8)
        if operation == pb.OPERATION_TYPE_FULLY_CONNECTED:
            # NNAPI has no per-channel weights for this one.
            scales = _symmetric(np.abs(values).max())
            tensor = TensorType(activations, values.shape, float(scales))
        else:
            dim = _CHANNEL_DIM[operation]
            others = tuple(axis for axis in range(values.ndim) if axis != dim)
            scales = _symmetric(np.abs(values).max(axis=others, keepdims=True))
            tensor = TensorType(
                pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL,
                values.shape,
                channel_scales=tuple(float(scale) for scale in scales.flat),
                channel_dim=dim,
            )
        return tensor, np.clip(np.rint(values / scales), -127, 127).astype(np.int8)

    def _bias(self, index: int, shift: Array, data: pb.Operand, weights: TensorType) -> int:
        """In steps of input scale times filter scale, which NNAPI wants to be exact.

        A per-channel bias has one such scale per channel without saying so.
        """
        operand = self._source.main.operands[index]
        per_channel = bool(weights.channel_scales)
        filter_scales = weights.channel_scales if per_channel else weights.scale
        scales = np.float32(data.scale) * np.asarray(filter_scales, np.float32)
        values = (constant(self._source, operand) - shift) / scales.astype(np.float64)
        limits = np.iinfo(np.int32)
        steps = np.clip(np.rint(values), limits.min, limits.max).astype("<i4")
        scale = 0.0 if per_channel else float(scales)
        tensor = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, tuple(operand.dimensions), scale)
        return self._builder.constant(operand.name, tensor, steps)


def _real(tensor: TensorType, steps: Array) -> Array:
    """What quantised weights stand for."""
    if not tensor.channel_scales:
        return (steps.astype(np.float64) - tensor.zero_point) * tensor.scale
    shape = [1] * steps.ndim
    shape[tensor.channel_dim] = -1
    scales: Array = np.asarray(tensor.channel_scales).reshape(shape)
    return np.asarray(steps * scales)


def _mean_shift(operation: int, error: Array, means: Array) -> Array:
    """By how much the mean of each output channel moves when the weights are off by `error`."""
    if operation == pb.OPERATION_TYPE_DEPTHWISE_CONV_2D:
        multiplier = error.shape[-1] // means.size
        products = error * np.repeat(means, multiplier)
        return np.asarray(products.sum(axis=(0, 1, 2)))
    # A fully connected layer may see several pixels of each channel in one row.
    inputs = error.reshape(error.shape[0], -1, means.size)
    return np.asarray((inputs * means).sum(axis=(1, 2)))


def affine(
    low: float, high: float, lowest: int, highest: int, finest: float = 0.0
) -> tuple[float, int]:
    """Scale and zero point with which the steps lowest..highest cover the range and 0.

    The scale is a float32 and not below `finest`.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32(max((high - low) / (highest - lowest), finest, 1e-8)))
    zero_point = round(lowest - low / scale)
    return scale, min(max(zero_point, lowest), highest)


def _symmetric(largest: Array) -> Array:
    """The scale with which 127 steps reach `largest`."""
    return np.asarray(np.maximum(largest / np.float32(127), 1e-8), np.float32)
