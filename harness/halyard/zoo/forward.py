# SPDX-License-Identifier: Apache-2.0
"""Runs a float32 model in numpy and keeps every operand's value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from halyard.model import Array, arguments, constants, is_tensor, label
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import float_kernels as kernels
from halyard.zoo.detection_kernels import detect
from halyard.zoo.recurrent_kernels import Cell


def run(
    model: pb.Model, inputs: Sequence[Array], known: Mapping[int, Array] | None = None
) -> dict[int, Array]:
    """The values of the tensors of the main subgraph, by operand index.

    The first dimension of the inputs may be another than the model's: a batch of images. `known`
    are the model's constants, where they have been read already. ValueError for an operation that
    has no numpy kernel.
    """
    values: dict[int, Array] = dict(zip(model.main.input_indexes, inputs, strict=True))
    known = constants(model) if known is None else known
    values |= {
        index: constant
        for index, constant in known.items()
        if is_tensor(model.main.operands[index].type)
    }
    for number, operation in enumerate(model.main.operations):
        if operation.type not in _KERNELS:
            raise ValueError(f"{label(model, number)} has no numpy kernel")
        tensors = [values[index] for index in operation.inputs if index in values]
        results = evaluate(model, operation, tensors)
        values.update(zip(operation.outputs, results, strict=True))
    return values


def evaluate(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> tuple[Array, ...]:
    """The outputs of one operation, from the tensors among its inputs. KeyError for one that has
    no kernel."""
    result = _KERNELS[operation.type](model, operation, tensors)
    return result if isinstance(result, tuple) else (result,)


_Kernel = Callable[[pb.Model, pb.Operation, list[Array]], Array | tuple[Array, ...]]


def _add(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return _activated(model, operation, tensors[0] + tensors[1])


def _sub(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return _activated(model, operation, tensors[0] - tensors[1])


def _mul(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return _activated(model, operation, tensors[0] * tensors[1])


def _activated(model: pb.Model, operation: pb.Operation, values: Array) -> Array:
    return kernels.activate(values, arguments.activation(model, operation.inputs[-1]))


def _conv_2d(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return kernels.conv_2d(*_weighted(tensors), _nhwc(arguments.convolution(model, operation)))


def _depthwise(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return kernels.depthwise_conv_2d(
        *_weighted(tensors), _nhwc(arguments.depthwise(model, operation))
    )


def _average_pool(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return kernels.average_pool_2d(tensors[0], _nhwc(arguments.pooling(model, operation)))


def _max_pool(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return kernels.max_pool_2d(tensors[0], _nhwc(arguments.pooling(model, operation)))


def _weighted(tensors: list[Array]) -> tuple[Array, Array, Array]:
    data, weights, bias = tensors
    return data, weights, bias


def _nhwc(window: arguments.Window) -> arguments.Window:
    if window.nchw:
        raise ValueError("the numpy kernels are NHWC")
    return window


def _fully_connected(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    activation = arguments.activation(model, operation.inputs[3])
    return kernels.fully_connected(*_weighted(tensors), activation)


def _concatenation(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return np.concatenate(tensors, axis=int(arguments.scalar(model, operation.inputs[-1])))


def _mean(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    keep = arguments.scalar(model, operation.inputs[2]) != 0
    axes = tuple(int(axis) for axis in set(tensors[1].reshape(-1) % tensors[0].ndim))
    return np.asarray(tensors[0].mean(axis=axes, keepdims=keep), np.float32)


def _pad(_: pb.Model, __: pb.Operation, tensors: list[Array]) -> Array:
    return np.pad(tensors[0], tensors[1])


def _reshape(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    # The batch that is run may be another than the model's.
    declared = model.main.operands[operation.inputs[0]].dimensions
    wanted = list(tensors[1])
    if wanted[0] != -1:
        wanted[0] = wanted[0] * tensors[0].size // math.prod(declared)
    return tensors[0].reshape(wanted)


def _transpose(_: pb.Model, __: pb.Operation, tensors: list[Array]) -> Array:
    return tensors[0].transpose(tensors[1])


def _split(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> tuple[Array, ...]:
    axis, count = (int(arguments.scalar(model, index)) for index in operation.inputs[1:3])
    return tuple(np.split(tensors[0], count, axis))


def _batch_matmul(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    factors = [
        factor.swapaxes(-1, -2) if arguments.scalar(model, index) else factor
        for factor, index in zip(tensors, operation.inputs[2:4], strict=True)
    ]
    return np.asarray(factors[0] @ factors[1])


def _resize_bilinear(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    resize = arguments.resize(model, operation)
    return kernels.resize_bilinear(
        tensors[0], resize.height, resize.width, resize.align_corners, resize.half_pixel_centers
    )


def _lstm(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> tuple[Array, ...]:
    data, output, state, cell = _cell(model, operation, tensors)
    output, state = cell.step(data, output, state)
    scratch = np.zeros((len(data), 4 * state.shape[-1]), np.float32)
    return scratch, output, state, output


def _sequence_lstm(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    if arguments.scalar(model, operation.inputs[23]):
        raise ValueError("the numpy kernels have the batch before the time")
    data, output, state, cell = _cell(model, operation, tensors)
    return cell.run(data, output, state)


def _cell(
    model: pb.Model, operation: pb.Operation, tensors: list[Array]
) -> tuple[Array, Array, Array, Cell]:
    """The input, the states, and the cell."""
    given = arguments.lstm(model, operation)
    by_input = dict(zip(given.present, tensors, strict=True))
    if given.activation != arguments.TANH or not given.is_plain:
        raise ValueError("the numpy LSTM has tanh, an input gate and no peepholes")
    cell = Cell(
        tuple(by_input[number] for number in range(1, 5)),
        tuple(by_input[number] for number in range(5, 9)),
        tuple(by_input[number] for number in range(12, 16)),
        by_input.get(16),
        by_input.get(17),
        given.cell_clip,
        given.projection_clip,
    )
    return by_input[0], by_input[18], by_input[19], cell


def _detection(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> tuple[Array, ...]:
    scores, deltas, anchors = tensors
    return detect(arguments.detection(model, operation), scores, deltas, anchors)


def _softmax(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    axis = int(arguments.scalar(model, operation.inputs[2])) if len(operation.inputs) > 2 else -1
    return kernels.softmax(tensors[0], arguments.scalar(model, operation.inputs[1]), axis)


def _activation_of(activation: Activation) -> _Kernel:
    return lambda _model, _operation, tensors: kernels.activate(tensors[0], activation)


def _unary(function: Callable[[Array], Array]) -> _Kernel:
    return lambda _model, _operation, tensors: function(tensors[0])


def _rsqrt(data: Array) -> Array:
    return np.asarray(1 / np.sqrt(data), np.float32)


_KERNELS: dict[int, _Kernel] = {
    pb.OPERATION_TYPE_ADD: _add,
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _average_pool,
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _conv_2d,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_DETECTION_POSTPROCESSING: _detection,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_HARD_SWISH: _unary(kernels.hard_swish),
    pb.OPERATION_TYPE_LOGISTIC: _unary(kernels.logistic),
    pb.OPERATION_TYPE_LSTM: _lstm,
    pb.OPERATION_TYPE_MAX_POOL_2D: _max_pool,
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MUL: _mul,
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_RELU: _activation_of(Activation.RELU),
    pb.OPERATION_TYPE_RELU1: _activation_of(Activation.RELU1),
    pb.OPERATION_TYPE_RELU6: _activation_of(Activation.RELU6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_RESIZE_BILINEAR: _resize_bilinear,
    pb.OPERATION_TYPE_RSQRT: _unary(_rsqrt),
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
    pb.OPERATION_TYPE_SPLIT: _split,
    pb.OPERATION_TYPE_SUB: _sub,
    pb.OPERATION_TYPE_TRANSPOSE: _transpose,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: _sequence_lstm,
}
