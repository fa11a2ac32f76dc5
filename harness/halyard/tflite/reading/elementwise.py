# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element from those at its place, and changes of type."""

from __future__ import annotations

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator, Tensor
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.options import fused, options


def plain(operation: int) -> Handler:
    """An operation of the same inputs that has no arguments."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        mapper.emit(operation, mapper.operands_of(operator), operator)

    return handler


def activated(operation: int, kind: type) -> Handler:
    """Of two tensors, with a fused activation."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        activation = mapper.builder.int32(fused(options(operator, kind)))
        mapper.emit(operation, [*_pair(mapper, operator), activation], operator)

    return handler


def square(mapper: Mapper, operator: Operator) -> None:
    value = mapper.operand(mapper.input(operator, 0))
    none = mapper.builder.int32(Activation.NONE)
    mapper.emit(pb.OPERATION_TYPE_MUL, [value, value, none], operator)


def squared_difference(mapper: Mapper, operator: Operator) -> None:
    output = mapper.output(operator)
    if mapper.quantised(output):
        raise NotExpressible("of 8 bits, whose difference NNAPI would round on the way")
    none = mapper.builder.int32(Activation.NONE)
    name = f"{mapper.name(operator)}/difference"
    inputs = [*_pair(mapper, operator), none]
    difference = mapper.emit_inner(pb.OPERATION_TYPE_SUB, inputs, name, mapper.type_of(output))
    mapper.emit(pb.OPERATION_TYPE_MUL, [difference, difference, none], operator)


def leaky_relu(mapper: Mapper, operator: Operator) -> None:
    """A PRELU of one slope, which has 8 bits where the tensor has: one step of its size."""
    alpha = float(options(operator, schema.LeakyReluOptionsT).alpha)
    source = mapper.input(operator, 0)
    kind = mapper.type_of(source)
    if mapper.quantised(source):
        if not alpha > 0 or not np.isfinite(np.float32(alpha)):
            raise NotExpressible(f"its slope is {alpha:g}, which is no scale for 8 bits")
        slope = TensorType(kind.type, (1,), alpha)
        value = np.ones(1, mapper.tensor(source).dtype)
    else:
        slope, value = TensorType(kind.type, (1,)), np.array([alpha], np.float32)
    inputs = [
        mapper.operand(source),
        mapper.constant(f"{mapper.name(operator)}/slope", slope, value),
    ]
    mapper.emit(pb.OPERATION_TYPE_PRELU, inputs, operator)


def elu(mapper: Mapper, operator: Operator) -> None:
    source = mapper.operand(mapper.input(operator, 0))
    inputs = [source, mapper.builder.float32(1.0)]
    mapper.emit(pb.OPERATION_TYPE_ELU, inputs, operator)


def softmax(mapper: Mapper, operator: Operator) -> None:
    beta = float(options(operator, schema.SoftmaxOptionsT).beta)
    if not 0 < beta < float("inf"):
        raise NotExpressible(f"its beta is {beta:g}")
    source = mapper.operand(mapper.input(operator, 0))
    mapper.emit(pb.OPERATION_TYPE_SOFTMAX, [source, mapper.builder.float32(beta)], operator)


def log_softmax(mapper: Mapper, operator: Operator) -> None:
    builder = mapper.builder
    inputs = [mapper.operand(mapper.input(operator, 0)), builder.float32(1.0), builder.int32(-1)]
    mapper.emit(pb.OPERATION_TYPE_LOG_SOFTMAX, inputs, operator)


def select(mapper: Mapper, operator: Operator) -> None:
    shapes = {mapper.shape(mapper.input(operator, place)) for place in range(3)}
    if len(shapes) > 1:
        shown = " and ".join(str(list(shape)) for shape in sorted(shapes))
        raise NotExpressible(f"it broadcasts {shown}, and NNAPI's has one shape")
    mapper.emit(pb.OPERATION_TYPE_SELECT, mapper.operands_of(operator), operator)


def dequantize(mapper: Mapper, operator: Operator) -> None:
    """Of a constant, float16 weights above all, it is done here and now."""
    source, output = mapper.input(operator, 0), mapper.output(operator)
    values = mapper.values(source)
    if values is not None:
        mapper.fold(output, _real(mapper.tensor(source), values))
    elif mapper.tensor(source).type == Type.FLOAT16:
        mapper.emit(pb.OPERATION_TYPE_CAST, [mapper.operand(source)], operator)
    else:
        mapper.emit(pb.OPERATION_TYPE_DEQUANTIZE, [mapper.operand(source)], operator)


def densify(mapper: Mapper, operator: Operator) -> None:
    """Of a constant without its zeros, which has them already."""
    values = mapper.values(mapper.input(operator, 0))
    if values is None:
        raise NotExpressible("of what is computed")
    mapper.fold(mapper.output(operator), values)


def quantize(mapper: Mapper, operator: Operator) -> None:
    """From one quantisation to another by way of floats."""
    source = mapper.input(operator, 0)
    operand = mapper.operand(source)
    if mapper.quantised(source):
        kind = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, mapper.type_of(source).dimensions)
        name = f"{mapper.name(operator)}/real"
        operand = mapper.emit_inner(pb.OPERATION_TYPE_DEQUANTIZE, [operand], name, kind)
    mapper.emit(pb.OPERATION_TYPE_QUANTIZE, [operand], operator)


def cast(mapper: Mapper, operator: Operator) -> None:
    source, output = mapper.input(operator, 0), mapper.output(operator)
    values, dtype = mapper.values(source), mapper.tensor(output).dtype
    if values is not None and dtype is not None and values.dtype.kind in "iub":
        mapper.fold(output, values.astype(dtype))
    else:
        mapper.emit(pb.OPERATION_TYPE_CAST, [mapper.operand(source)], operator)


def _pair(mapper: Mapper, operator: Operator) -> list[int]:
    return [mapper.operand(mapper.input(operator, place)) for place in range(2)]


def _real(tensor: Tensor, values: Array) -> Array:
    if tensor.type == Type.FLOAT16:
        return values.astype(np.float32)
    if not tensor.scales:
        raise NotExpressible(f"{tensor.shown!r} has no scale")
    shape = [1] * values.ndim
    if len(tensor.scales) > 1:
        shape[tensor.axis] = len(tensor.scales)
    scales = np.array(tensor.scales, np.float32).reshape(shape)
    points = np.array(tensor.zero_points, np.int64).reshape(shape)
    return ((values - points) * scales).astype(np.float32)
