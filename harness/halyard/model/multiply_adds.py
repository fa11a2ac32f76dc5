# SPDX-License-Identifier: Apache-2.0
"""How many multiply-adds a model takes: what its time is compared with the machine's peak by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from halyard.model.call import Call, calls
from halyard.proto import halyard_pb2 as pb


def multiply_adds(model: pb.Model) -> int:
    """Of one execution. Operations that do less than a multiply-add per weight count as none."""
    return sum(_COUNTS[call.operation.type](call) for call in calls(model, [*_COUNTS]))


def multiply_adds_of(model: pb.Model, operations: Iterable[int]) -> int:
    """The same of some operations of the main subgraph, by their numbers."""
    chosen = [
        model.main.operations[number]
        for number in operations
        if number < len(model.main.operations)
    ]
    return sum(
        _COUNTS[operation.type](Call(model, operation))
        for operation in chosen
        if operation.type in _COUNTS
    )


def _elements(call: Call, name: str) -> int:
    """Of an input that may be left out."""
    return math.prod(call.shape(name)) if call.has(name) else 0


def _convolution(call: Call) -> int:
    """Also GROUPED_CONV_2D: a filter [outputs, height, width, inputs of its group]."""
    return math.prod(call.output_shape()) * math.prod(call.shape("filter")[1:])


def _depthwise(call: Call) -> int:
    _, height, width, _ = call.shape("filter")
    return math.prod(call.output_shape()) * height * width


def _transposed_convolution(call: Call) -> int:
    """Each element of the input goes to every element of the filter."""
    outputs, height, width, _ = call.shape("filter")
    return math.prod(call.shape("input")) * outputs * height * width


def _fully_connected(call: Call) -> int:
    units, columns = call.shape("weights")
    return math.prod(call.shape("input")) // columns * units * columns


def _batch_matmul(call: Call) -> int:
    left = call.shape("a")
    return math.prod(call.output_shape()) * (left[-2] if call.flag("transpose_a") else left[-1])


_GATES = ("input", "forget", "cell", "output")


def _lstm(call: Call) -> int:
    """A row of the gates' weights, and of the projection's, for each step."""
    names = [f"{side}_to_{gate}_weights" for side in ("input", "recurrent") for gate in _GATES]
    weights = sum(_elements(call, name) for name in (*names, "projection_weights"))
    return weights * math.prod(call.shape("input")[:-1])


def _rnn(call: Call) -> int:
    weights = _elements(call, "weights") + _elements(call, "recurrent_weights")
    return weights * math.prod(call.shape("input")[:-1])


def _svdf(call: Call) -> int:
    weights = _elements(call, "weights_feature") + _elements(call, "weights_time")
    return call.shape("input")[0] * weights


_COUNTS: dict[int, Callable[[Call], int]] = {
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_GROUPED_CONV_2D: _convolution,
    pb.OPERATION_TYPE_LSTM: _lstm,
    pb.OPERATION_TYPE_QUANTIZED_LSTM: _lstm,
    pb.OPERATION_TYPE_RNN: _rnn,
    pb.OPERATION_TYPE_SVDF: _svdf,
    pb.OPERATION_TYPE_TRANSPOSE_CONV_2D: _transposed_convolution,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: _lstm,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_RNN: _rnn,
}
