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

from halyard import reference
from halyard.model import (
    Array,
    ModelBuilder,
    TensorType,
    arguments,
    constants,
    dtype_of,
    is_constant,
    is_tensor,
    label,
    stimuli,
)
from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.affine import affine, symmetric
from halyard.zoo.normalizations import normalizations
from halyard.zoo.quantized_lstm import QuantizedLstms
from halyard.zoo.ties import TIED, Ties


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
    """Calibration's statistics of a tensor: its range, and the mean of each channel."""

    low: float
    high: float
    channel_means: Array


# The filter's channel dimension per operation.
_CHANNEL_DIM: dict[int, int] = {
    pb.OPERATION_TYPE_CONV_2D: 0,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: 3,
    pb.OPERATION_TYPE_FULLY_CONNECTED: 0,
}
# The scale that NNAPI prescribes, and the steps that the lowest value is from 0.
_FIXED: dict[int, tuple[float, int]] = {
    pb.OPERATION_TYPE_LOGISTIC: (1 / 256, 0),
    pb.OPERATION_TYPE_SOFTMAX: (1 / 256, 0),
    pb.OPERATION_TYPE_TANH: (1 / 128, -128),
}
_OTHERS = frozenset(
    {
        pb.OPERATION_TYPE_ADD,
        pb.OPERATION_TYPE_BATCH_MATMUL,
        pb.OPERATION_TYPE_HARD_SWISH,
        pb.OPERATION_TYPE_MUL,
        pb.OPERATION_TYPE_SUB,
    }
)
_COVERED = frozenset({*TIED, *_FIXED, *_OTHERS, *_CHANNEL_DIM})
# Operations that NNAPI has for floats alone.
_FLOAT_ONLY = frozenset({pb.OPERATION_TYPE_DETECTION_POSTPROCESSING})


def calibrate(model: pb.Model, inputs: Sequence[Array]) -> dict[int, Observed]:
    """Statistics of each tensor of the float model over the inputs, by operand index; constants are
    not among them."""
    known = constants(model)
    observed: dict[int, Observed] = {}
    for number, array in enumerate(inputs):
        for index, values in reference.trace(model, [array], known).items():
            if index in known:
                continue
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
        self._constants = constants(model)
        self._observed = observed
        self._scheme = scheme
        self._builder = ModelBuilder(model.name)
        self._floats = normalizations(model) | {
            number
            for number, operation in enumerate(model.main.operations)
            if operation.type in _FLOAT_ONLY
        }
        self._ties = Ties(model, self._floats)
        # Scale and zero point that operands share, by the first of them.
        self._shared: dict[int, tuple[float, int]] = {}
        self._lstms = QuantizedLstms(model, self._constants, self._builder)
        # From operands of the source to those of the result, quantised and as they are.
        self._steps: dict[int, int] = {}
        self._reals: dict[int, int] = {}

    def run(self) -> pb.Model:
        main = self._source.main
        for index in main.input_indexes:
            operand = main.operands[index]
            kind = stimuli.kind_of(tuple(operand.dimensions))
            if kind is None:
                raise ValueError(f"nothing is known of the input {operand.name}")
            quantization = self._scheme.fixed(kind.scale, -stimuli.ZERO_POINT)
            self._shared[self._ties.of(index)] = quantization
            tensor = self._activation(operand, quantization)
            self._steps[index] = self._builder.input(operand.name, tensor)
        for number, operation in enumerate(main.operations):
            if number in self._floats:
                self._append_real(operation)
            elif operation.type == pb.OPERATION_TYPE_LSTM:
                self._append_lstm(operation)
            elif operation.type in _COVERED:
                self._append(operation)
            else:
                raise ValueError(f"{label(self._source, number)} is not quantised by any scheme")
        outputs = [
            self._steps[index] if index in self._steps else self._reals[index]
            for index in main.output_indexes
        ]
        return self._builder.build(outputs)

    # ---- operations -----------------------------------------------------------------------------

    def _append(self, operation: pb.Operation) -> None:
        if operation.type in _CHANNEL_DIM:
            inputs = self._weighted(Call(self._source, operation))
        else:
            inputs = [self._step(index) for index in operation.inputs]
        finest = self._finest(operation.type, inputs)
        operands = [self._source.main.operands[index] for index in operation.outputs]
        outputs = [
            (operand.name, self._activation(operand, self._quantization(index, operation, finest)))
            for index, operand in zip(operation.outputs, operands, strict=True)
        ]
        results = self._builder.operation_n(operation.type, inputs, outputs)
        self._steps.update(zip(operation.outputs, results, strict=True))

    def _append_real(self, operation: pb.Operation) -> None:
        inputs = [self._real(index) for index in operation.inputs]
        operands = [self._source.main.operands[index] for index in operation.outputs]
        outputs = [(operand.name, _same_type(operand)) for operand in operands]
        results = self._builder.operation_n(operation.type, inputs, outputs)
        self._reals.update(zip(operation.outputs, results, strict=True))

    def _append_lstm(self, operation: pb.Operation) -> None:
        """One step: QUANTIZED_LSTM, which has no scratch tensor."""
        call = Call(self._source, operation)
        if not arguments.is_plain_lstm(call):
            raise ValueError("an LSTM of another kind has no quantised form here")
        output_state, cell_state = call.output("output_state"), call.output("cell_state")
        output = call.output()
        operand = self._source.main.operands[output]
        states = call.index("output_state"), call.index("cell_state")
        results = self._lstms.step(
            call,
            self._step(call.index("input")),
            (self._steps.get(states[0]), self._steps.get(states[1])),
            self._activation(operand, self._quantization(output)),
            max(abs(bound) for bound in self._range(cell_state)),
        )
        self._steps.update(zip((output_state, cell_state, output), results, strict=True))

    # ---- scales ---------------------------------------------------------------------------------

    def _activation(self, operand: pb.Operand, quantization: tuple[float, int]) -> TensorType:
        return TensorType(self._scheme.activations, tuple(operand.dimensions), *quantization)

    def _quantization(
        self, index: int, operation: pb.Operation | None = None, finest: float = 0.0
    ) -> tuple[float, int]:
        """Scale and zero point of an operand, which `operation` writes. The first one of those that
        share them decides."""
        first = self._ties.of(index)
        if first not in self._shared:
            if operation is not None and operation.type in _FIXED:
                self._shared[first] = self._scheme.fixed(*_FIXED[operation.type])
            else:
                low, high = self._range(index)
                self._shared[first] = affine(low, high, self._scheme.low, self._scheme.high, finest)
        return self._shared[first]

    def _range(self, index: int) -> tuple[float, float]:
        """Calibration's range of the operands that share a scale, with headroom."""
        group = self._ties.group(index)
        seen = [self._observed[each] for each in group if each in self._observed]
        low, high = min(each.low for each in seen), max(each.high for each in seen)
        return low * _HEADROOM, high * _HEADROOM

    def _finest(self, operation: int, inputs: Sequence[int]) -> float:
        """HAL 1.0 and 1.1: the output's scale is larger than that of the sums, of which the first
        two inputs are factors."""
        if operation not in _CHANNEL_DIM or self._scheme.filters_per_channel:
            return 0.0
        data, weights = (np.float32(self._builder.operand(index).scale) for index in inputs[:2])
        return float(np.nextafter(data * weights, np.float32(np.inf)))

    # ---- inputs of operations -------------------------------------------------------------------

    def _step(self, index: int) -> int:
        """The operand, quantised; an argument stays as it is."""
        operand = self._source.main.operands[index]
        if index in self._steps:
            return self._steps[index]
        if is_constant(operand) and operand.type != pb.OPERAND_TYPE_TENSOR_FLOAT32:
            return self._real(index)
        if is_constant(operand):
            values = self._constants[index]
            low, high = float(values.min()), float(values.max())
            quantization = affine(low, high, self._scheme.low, self._scheme.high)
            tensor = self._activation(operand, quantization)
            steps = np.rint(values / np.float32(tensor.scale)) + tensor.zero_point
            steps = np.clip(steps, self._scheme.low, self._scheme.high).astype(
                dtype_of(tensor.type)
            )
            made = self._builder.constant(operand.name, tensor, steps)
        else:
            tensor = self._activation(operand, self._quantization(index))
            name = f"{operand.name}/quantized"
            inputs = [self._reals[index]]
            made = self._builder.operation(pb.OPERATION_TYPE_QUANTIZE, inputs, name, tensor)
        self._steps[index] = made
        return made

    def _real(self, index: int) -> int:
        """The operand as it is in the source."""
        operand = self._source.main.operands[index]
        if index in self._reals:
            return self._reals[index]
        if not is_constant(operand):
            name = f"{operand.name}/dequantized"
            inputs, tensor = [self._steps[index]], _same_type(operand)
            made = self._builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, inputs, name, tensor)
        elif is_tensor(operand.type):
            values = self._constants[index]
            made = self._builder.constant(operand.name, _same_type(operand), values)
        else:
            made = self._builder.scalar(operand.type, self._constants[index].item())
        self._reals[index] = made
        return made

    def _weighted(self, call: Call) -> list[int]:
        """The operation's inputs, quantised."""
        operation = call.operation
        source_data, source_bias = call.index("input"), call.index("bias")
        source_weights = call.index("filter" if call.indexes("filter") else "weights")
        operand = self._source.main.operands[source_weights]
        values = self._constants[source_weights]
        tensor, steps = self._weights(operation.type, values)
        shift = _mean_shift(
            operation.type,
            _real(tensor, steps) - values,
            self._observed[source_data].channel_means,
        )
        data = self._step(source_data)
        weights = self._builder.constant(operand.name, tensor, steps)
        bias = self._bias(source_bias, shift, self._builder.operand(data), tensor)
        made = {source_data: data, source_weights: weights, source_bias: bias}
        return [made[index] if index in made else self._step(index) for index in operation.inputs]

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
            scales = symmetric(np.abs(values).max())
            tensor = TensorType(activations, values.shape, float(scales))
        else:
            dim = _CHANNEL_DIM[operation]
            others = tuple(axis for axis in range(values.ndim) if axis != dim)
            scales = symmetric(np.abs(values).max(axis=others, keepdims=True))
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
        values = (self._constants[index] - shift) / scales.astype(np.float64)
        limits = np.iinfo(np.int32)
        steps = np.clip(np.rint(values), limits.min, limits.max).astype("<i4")
        scale = 0.0 if per_channel else float(scales)
        tensor = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, tuple(operand.dimensions), scale)
        return self._builder.constant(operand.name, tensor, steps)


def _same_type(operand: pb.Operand) -> TensorType:
    return TensorType(operand.type, tuple(operand.dimensions))


def _real(tensor: TensorType, steps: Array) -> Array:
    """The real numbers that quantised weights stand for."""
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
