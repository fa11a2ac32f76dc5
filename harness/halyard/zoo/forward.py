# SPDX-License-Identifier: Apache-2.0
"""Runs a float32 model in numpy and keeps every operand's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.model import Array, arguments, constant, is_constant, is_tensor, label
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import float_kernels as kernels


def run(model: pb.Model, inputs: Sequence[Array]) -> dict[int, Array]:
    """The values of the tensors of the main subgraph, by operand index.

    The first dimension of the inputs may be another than the model's: a batch of images.
    ValueError for an operation that has no numpy kernel.
    """
    values: dict[int, Array] = dict(zip(model.main.input_indexes, inputs, strict=True))
    for index, operand in enumerate(model.main.operands):
        if is_constant(operand) and is_tensor(operand.type):
            values[index] = constant(model, operand)
    for number, operation in enumerate(model.main.operations):
        kernel = _KERNELS.get(operation.type)
        if kernel is None:
            raise ValueError(f"{label(model, number)} has no numpy kernel")
        tensors = [values[index] for index in operation.inputs if index in values]
        values[operation.outputs[0]] = kernel(model, operation, tensors)
    return values


_Kernel = Callable[[pb.Model, pb.Operation, list[Array]], Array]


def _add(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    return _activated(model, operation, tensors[0] + tensors[1])


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
    wanted = list(tensors[1])
    declared = model.main.operands[operation.inputs[0]].dimensions
    if wanted and declared and wanted[0] == declared[0]:
        wanted[0] = tensors[0].shape[0]
    return tensors[0].reshape(wanted)


def _softmax(model: pb.Model, operation: pb.Operation, tensors: list[Array]) -> Array:
    axis = int(arguments.scalar(model, operation.inputs[2])) if len(operation.inputs) > 2 else -1
    return kernels.softmax(tensors[0], arguments.scalar(model, operation.inputs[1]), axis)


def _activation_of(activation: Activation) -> _Kernel:
    return lambda _model, _operation, tensors: kernels.activate(tensors[0], activation)


_KERNELS: dict[int, _Kernel] = {
    pb.OPERATION_TYPE_ADD: _add,
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _average_pool,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _conv_2d,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_LOGISTIC: lambda _model, _operation, tensors: kernels.logistic(tensors[0]),
    pb.OPERATION_TYPE_MAX_POOL_2D: _max_pool,
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MUL: _mul,
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_RELU: _activation_of(Activation.RELU),
    pb.OPERATION_TYPE_RELU1: _activation_of(Activation.RELU1),
    pb.OPERATION_TYPE_RELU6: _activation_of(Activation.RELU6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
}
