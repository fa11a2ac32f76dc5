# SPDX-License-Identifier: Apache-2.0
"""How many multiply-adds a model takes: what its time is compared with the machine's peak by."""

from __future__ import annotations

import math
from collections.abc import Callable

from halyard.model import arguments
from halyard.proto import halyard_pb2 as pb


def multiply_adds(model: pb.Model) -> int:
    """Of one execution. Operations that do less than a multiply-add per weight count as none."""
    return sum(
        _COUNTS[operation.type](model, operation)
        for operation in model.main.operations
        if operation.type in _COUNTS
    )


def _shape(model: pb.Model, operation: pb.Operation, position: int) -> tuple[int, ...]:
    """Of an input; empty where it is left out."""
    return tuple(model.main.operands[operation.inputs[position]].dimensions)


def _output(model: pb.Model, operation: pb.Operation, position: int = 0) -> tuple[int, ...]:
    return tuple(model.main.operands[operation.outputs[position]].dimensions)


def _elements(model: pb.Model, operation: pb.Operation, position: int) -> int:
    """Of an input that may be left out."""
    operand = model.main.operands[operation.inputs[position]]
    absent = operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE
    return 0 if absent else math.prod(operand.dimensions)


def _convolution(model: pb.Model, operation: pb.Operation) -> int:
    """Also GROUPED_CONV_2D: a filter [outputs, height, width, inputs of its group]."""
    return math.prod(_output(model, operation)) * math.prod(_shape(model, operation, 1)[1:])


def _depthwise(model: pb.Model, operation: pb.Operation) -> int:
    _, height, width, _ = _shape(model, operation, 1)
    return math.prod(_output(model, operation)) * height * width


def _transposed_convolution(model: pb.Model, operation: pb.Operation) -> int:
    """Each element of the input goes to every element of the filter."""
    outputs, height, width, _ = _shape(model, operation, 1)
    return math.prod(_shape(model, operation, 0)) * outputs * height * width


def _fully_connected(model: pb.Model, operation: pb.Operation) -> int:
    units, columns = _shape(model, operation, 1)
    return math.prod(_shape(model, operation, 0)) // columns * units * columns


def _batch_matmul(model: pb.Model, operation: pb.Operation) -> int:
    left = _shape(model, operation, 0)
    turned = arguments.scalar(model, operation.inputs[2]) != 0
    return math.prod(_output(model, operation)) * (left[-2] if turned else left[-1])


def _lstm(model: pb.Model, operation: pb.Operation) -> int:
    """A row of the gates' weights, and of the projection's, for each step."""
    weights = sum(_elements(model, operation, position) for position in (*range(1, 9), 16))
    return weights * math.prod(_shape(model, operation, 0)[:-1])


def _quantized_lstm(model: pb.Model, operation: pb.Operation) -> int:
    """The same operands, in the same places."""
    return _lstm(model, operation)


def _rnn(model: pb.Model, operation: pb.Operation) -> int:
    weights = _elements(model, operation, 1) + _elements(model, operation, 2)
    return weights * math.prod(_shape(model, operation, 0)[:-1])


def _svdf(model: pb.Model, operation: pb.Operation) -> int:
    batch = _shape(model, operation, 0)[0]
    return batch * (_elements(model, operation, 1) + _elements(model, operation, 2))


_COUNTS: dict[int, Callable[[pb.Model, pb.Operation], int]] = {
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_GROUPED_CONV_2D: _convolution,
    pb.OPERATION_TYPE_LSTM: _lstm,
    pb.OPERATION_TYPE_QUANTIZED_LSTM: _quantized_lstm,
    pb.OPERATION_TYPE_RNN: _rnn,
    pb.OPERATION_TYPE_SVDF: _svdf,
    pb.OPERATION_TYPE_TRANSPOSE_CONV_2D: _transposed_convolution,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: _lstm,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_RNN: _rnn,
}
