# SPDX-License-Identifier: Apache-2.0
"""Operators with a state. TFLite's states are variables, which are zero before a model's first run
and keep what the last operator left; here each run begins with zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import ActivationFunctionType
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.arguments import TANH
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.graph import OMITTED
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper
from halyard.tflite.reading.operator_options import fused, options
from halyard.tflite.reading.weights import refuse_hybrid

# The places of an LSTM's inputs, which are the same in both.
_OUTPUT_STATE, _CELL_STATE, _INPUTS = 18, 19, 20
_NORMALISATIONS = 4
_INPUT_TO_INPUT, _INPUT_TO_OUTPUT, _RECURRENT_TO_OUTPUT = 1, 4, 8
_WEIGHTS = (*range(1, 9), 16)
_PEEPHOLES = range(9, 12)
_BIASES = (*range(12, 16), 17)
_HIDDEN = 4  # the intermediate that tells how the hidden state is quantised


def lstm(mapper: Mapper, operator: Operator) -> None:
    """One step."""
    given = options(operator, schema.LSTMOptionsT)
    if given.kernelType != schema.LSTMKernelType.FULL:
        raise NotExpressible("an LSTM of the basic kind")
    if mapper.quantised(mapper.input(operator, 0)):
        _quantised_lstm(mapper, operator, given)
        return
    builder = mapper.builder
    inputs = _lstm_inputs(mapper, operator)
    inputs += [builder.int32(_activation(given)), *_clips(mapper, given)]
    norms = _optional(mapper, operator, range(_INPUTS, _INPUTS + _NORMALISATIONS))
    # HAL 1.0 knows of no normalisation.
    if len(operator.inputs) > _INPUTS:
        inputs += norms
    output = mapper.output(operator)
    states = [_state(mapper, operator, place) for place in (_OUTPUT_STATE, _CELL_STATE)]
    batch, units = mapper.shape(states[1])
    gates = 4 if mapper.has(operator, _INPUT_TO_INPUT) else 3
    name = mapper.name(operator)
    scratch = TensorType(mapper.type_of(output).type, (batch, gates * units))
    kinds = [
        (f"{name}/scratch", scratch),
        (f"{name}/output_state", mapper.type_of(states[0])),
        (f"{name}/cell_state", mapper.type_of(states[1])),
        (name, mapper.type_of(output)),
    ]
    found = builder.operation_n(pb.OPERATION_TYPE_LSTM, inputs, kinds)
    # The next operator with these variables finds what this one left.
    mapper.operands.update(zip((*states, output), found[1:], strict=True))


def _quantised_lstm(mapper: Mapper, operator: Operator, given: Any) -> None:
    """QUANTIZED_LSTM: 8 bits, with a cell state of 16."""
    if len(operator.intermediates) != _HIDDEN + 1:
        raise NotExpressible("an 8-bit LSTM without the scales of its gates and its hidden state")
    normalised = any(
        mapper.has(operator, place) for place in range(_INPUTS, _INPUTS + _NORMALISATIONS)
    )
    scales = [_intermediate(mapper, index) for index in operator.intermediates]
    builder = mapper.builder
    inputs: list[int] = []
    for place in range(_INPUTS + _NORMALISATIONS):
        kind = _part_type(place)
        if not mapper.has(operator, place):
            scale = 0.0 if kind == pb.OPERAND_TYPE_TENSOR_INT32 else 1.0
            inputs.append(builder.omitted(TensorType(kind, (), scale)))
        elif place in (0, _OUTPUT_STATE, _CELL_STATE):
            inputs.append(mapper.operand(operator.inputs[place]))
        else:
            inputs.append(_symmetric(mapper, operator.inputs[place], kind))
    inputs += _clips(mapper, given)
    inputs += [builder.float32(scale if normalised else 0.0) for scale, _ in scales[:_HIDDEN]]
    hidden_scale, hidden_zero_point = scales[_HIDDEN]
    inputs += [builder.int32(hidden_zero_point), builder.float32(hidden_scale)]
    states = [_state(mapper, operator, place) for place in (_OUTPUT_STATE, _CELL_STATE)]
    output = mapper.output(operator)
    name = mapper.name(operator)
    kinds = [
        (f"{name}/output_state", mapper.type_of(states[0])),
        (f"{name}/cell_state", mapper.type_of(states[1])),
        (name, mapper.type_of(output)),
    ]
    found = builder.operation_n(pb.OPERATION_TYPE_QUANTIZED_LSTM, inputs, kinds)
    mapper.operands.update(zip((*states, output), found, strict=True))


def sequence_lstm(mapper: Mapper, operator: Operator) -> None:
    """All steps in one operator."""
    given = options(operator, schema.UnidirectionalSequenceLSTMOptionsT)
    if given.diagonalRecurrentTensors:
        raise NotExpressible("its recurrent weights are diagonals")
    _refuse_quantised(mapper, operator)
    _refuse_shared(mapper, operator, (_OUTPUT_STATE, _CELL_STATE))
    builder = mapper.builder
    inputs = _lstm_inputs(mapper, operator)
    inputs += [builder.int32(_activation(given)), *_clips(mapper, given)]
    inputs.append(builder.boolean(bool(given.timeMajor)))
    inputs += _optional(mapper, operator, range(_INPUTS, _INPUTS + _NORMALISATIONS))
    mapper.emit(pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, operator)


def bidirectional_lstm(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.BidirectionalSequenceLSTMOptionsT)
    _refuse_quantised(mapper, operator)
    states = range(35, 39)
    _refuse_shared(mapper, operator, states)
    builder = mapper.builder
    inputs = _optional(mapper, operator, range(48))
    inputs += [builder.int32(_activation(given)), *_clips(mapper, given)]
    inputs += [builder.boolean(bool(flag)) for flag in (given.mergeOutputs, given.timeMajor)]
    inputs += [_absent(mapper)] * (2 * _NORMALISATIONS)
    mapper.emit(pb.OPERATION_TYPE_BIDIRECTIONAL_SEQUENCE_LSTM, inputs, operator)


def rnn(mapper: Mapper, operator: Operator) -> None:
    """One step."""
    given = options(operator, schema.RNNOptionsT)
    _refuse_quantised(mapper, operator)
    builder = mapper.builder
    inputs = _optional(mapper, operator, range(5))
    inputs.append(builder.int32(fused(given)))
    state, output = _state(mapper, operator, 4), mapper.output(operator)
    name = mapper.name(operator)
    kinds = [(f"{name}/state", mapper.type_of(state)), (name, mapper.type_of(output))]
    found = builder.operation_n(pb.OPERATION_TYPE_RNN, inputs, kinds)
    mapper.operands.update(zip((state, output), found, strict=True))


def sequence_rnn(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.SequenceRNNOptionsT)
    _refuse_quantised(mapper, operator)
    _refuse_shared(mapper, operator, (4,))
    builder = mapper.builder
    inputs = _optional(mapper, operator, range(5))
    inputs += [builder.int32(fused(given)), builder.int32(int(given.timeMajor))]
    mapper.emit(pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_RNN, inputs, operator)


def bidirectional_rnn(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.BidirectionalSequenceRNNOptionsT)
    _refuse_quantised(mapper, operator)
    _refuse_shared(mapper, operator, (4, 8))
    builder = mapper.builder
    inputs = _optional(mapper, operator, range(12))
    inputs.append(builder.int32(fused(given)))
    inputs += [builder.boolean(bool(flag)) for flag in (given.timeMajor, given.mergeOutputs)]
    mapper.emit(pb.OPERATION_TYPE_BIDIRECTIONAL_SEQUENCE_RNN, inputs, operator)


def svdf(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.SVDFOptionsT)
    _refuse_quantised(mapper, operator)
    builder = mapper.builder
    inputs = _optional(mapper, operator, range(5))
    inputs += [builder.int32(given.rank), builder.int32(fused(given))]
    state, output = _state(mapper, operator, 4), mapper.output(operator)
    name = mapper.name(operator)
    kinds = [(f"{name}/state", mapper.type_of(state)), (name, mapper.type_of(output))]
    found = builder.operation_n(pb.OPERATION_TYPE_SVDF, inputs, kinds)
    mapper.operands.update(zip((state, output), found, strict=True))


# ---- inputs ---------------------------------------------------------------------------------


def _lstm_inputs(mapper: Mapper, operator: Operator) -> list[int]:
    for place in (_OUTPUT_STATE, _CELL_STATE):
        if len(mapper.shape(_state(mapper, operator, place))) != 2:
            raise NotExpressible("its states have other than two dimensions")
    return _optional(mapper, operator, range(_INPUTS))


def _optional(mapper: Mapper, operator: Operator, places: Sequence[int]) -> list[int]:
    found = []
    for place in places:
        if not mapper.has(operator, place):
            found.append(_absent(mapper))
            continue
        index = operator.inputs[place]
        refuse_hybrid(mapper, mapper.input(operator, 0), index)
        found.append(mapper.operand(index))
    return found


def _absent(mapper: Mapper) -> int:
    return mapper.builder.omitted(TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, ()))


def _clips(mapper: Mapper, given: Any) -> list[int]:
    return [mapper.builder.float32(float(clip)) for clip in (given.cellClip, given.projClip)]


def _activation(given: Any) -> int:
    """Of an LSTM, which may have TANH besides those that are fused elsewhere."""
    if given.fusedActivationFunction == ActivationFunctionType.TANH:
        return TANH
    return int(fused(given))


def _refuse_quantised(mapper: Mapper, operator: Operator) -> None:
    if mapper.quantised(mapper.input(operator, 0)):
        kind = mapper.tensor(mapper.input(operator, 0)).type_name
        raise NotExpressible(f"of {kind}, and NNAPI's computes with floats")


def _state(mapper: Mapper, operator: Operator, place: int) -> int:
    index = mapper.input(operator, place)
    if not mapper.tensor(index).is_variable:
        raise NotExpressible(f"its state {mapper.tensor(index).shown!r} is no variable")
    return index


def _refuse_shared(mapper: Mapper, operator: Operator, places: Sequence[int]) -> None:
    for place in places:
        index = _state(mapper, operator, place)
        if sum(index in each.inputs for each in mapper.graph.operators) > 1:
            raise NotExpressible(f"its state {mapper.tensor(index).shown!r} is another's, too")


def _part_type(place: int) -> pb.OperandType:
    """Of an 8-bit LSTM's input."""
    if place in _WEIGHTS:
        return pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM
    return pb.OPERAND_TYPE_TENSOR_INT32 if place in _BIASES else pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM


def _symmetric(mapper: Mapper, index: int, kind: pb.OperandType) -> int:
    tensor, values = mapper.tensor(index), mapper.values(index)
    wanted = {
        pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM: Type.INT8,
        pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM: Type.INT16,
        pb.OPERAND_TYPE_TENSOR_INT32: Type.INT32,
    }[kind]
    if values is None or tensor.type != wanted or any(tensor.zero_points):
        raise NotExpressible(f"{tensor.shown!r} is no symmetric constant of the type that it has")
    scale = tensor.scales[0] if tensor.scales else 0.0
    return mapper.constant(tensor.name, TensorType(kind, mapper.shape(index), scale), values)


def _intermediate(mapper: Mapper, index: int) -> tuple[float, int]:
    if index == OMITTED:
        return 0.0, 0
    tensor = mapper.tensor(index)
    if not tensor.scales:
        return 0.0, 0
    return tensor.scales[0], tensor.zero_points[0]
