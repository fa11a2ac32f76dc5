# SPDX-License-Identifier: Apache-2.0
"""LSTMs. In TFLite their states are variables, which are zero before the first run."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.errors import NotExpressible
from halyard.model import is_tensor
from halyard.proto import halyard_pb2 as pb
from halyard.tflite import schema
from halyard.tflite.converter import Converter
from halyard.tflite.graph import OMITTED, Options, Quantization, Tensor
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions, TensorType

# Inputs up to the states, which are the next two, are the same in NNAPI and TFLite.
_BEFORE_STATES = 18

# TFLite's integer LSTM has tanh, and gates whose sums have twelve fractional bits.
_TANH = 4


def sequence_lstm(converter: Converter, operation: pb.Operation) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: all steps in one operator."""
    activation, cell_clip, projection_clip, time_major = (
        converter.scalar(index) for index in operation.inputs[20:24]
    )
    table = schema.UnidirectionalSequenceLSTMOptions
    options = {
        table.FUSED_ACTIVATION_FUNCTION: int(activation),
        table.CELL_CLIP: cell_clip,
        table.PROJ_CLIP: projection_clip,
        table.TIME_MAJOR: time_major != 0,
    }
    if len(operation.outputs) > 1:
        raise NotExpressible("TFLite does not give the last states away")
    inputs = _inputs(converter, operation, (None, None), operation.inputs[24:])
    converter.emit_between(
        BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM,
        inputs,
        [converter.tensor(operation.outputs[0])],
        Options(BuiltinOptions.UNIDIRECTIONAL_SEQUENCE_LSTM, options),
    )


def quantized_lstm(converter: Converter, operation: pb.Operation) -> None:
    """QUANTIZED_LSTM: one step. Steps that hand their states on share the variables."""
    cell_clip, projection_clip, *scales = (
        converter.scalar(index) for index in operation.inputs[24:30]
    )
    zero_point, scale = (converter.scalar(index) for index in operation.inputs[30:32])
    table = schema.LSTMOptions
    options = {
        table.FUSED_ACTIVATION_FUNCTION: _TANH,
        table.CELL_CLIP: cell_clip,
        table.PROJ_CLIP: projection_clip,
    }
    output_state, cell_state, output = operation.outputs
    inputs = _inputs(converter, operation, (output_state, cell_state), operation.inputs[20:24])
    name = converter.name(output)
    intermediates = [
        _intermediate(converter, f"{name}/gate_{number}", TensorType.INT16, each or 1.0, 0)
        for number, each in enumerate(scales)
    ]
    hidden = _intermediate(converter, f"{name}/hidden", TensorType.INT8, scale, int(zero_point))
    converter.emit_between(
        BuiltinOperator.LSTM,
        inputs,
        [converter.tensor(output)],
        Options(BuiltinOptions.LSTM, options),
        [*intermediates, hidden],
    )


def _inputs(
    converter: Converter,
    operation: pb.Operation,
    states_after: tuple[int | None, int | None],
    normalisation: Sequence[int],
) -> list[int]:
    def optional(index: int) -> int:
        operand = converter.operand(index)
        if operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
            return OMITTED
        assert is_tensor(operand.type)
        return converter.tensor(index)

    inputs = [optional(index) for index in operation.inputs[:_BEFORE_STATES]]
    states_before = operation.inputs[_BEFORE_STATES : _BEFORE_STATES + 2]
    for before, after in zip(states_before, states_after, strict=True):
        inputs.append(converter.state(before, after))
    norms = [optional(index) for index in normalisation]
    # Operators of four inputs less know of no normalisation.
    return inputs + norms if any(norm != OMITTED for norm in norms) else inputs


def _intermediate(
    converter: Converter, name: str, tensor_type: TensorType, scale: float, zero_point: int
) -> int:
    return converter.add(Tensor(name, tensor_type, (1,), Quantization((scale,), (zero_point,))))
