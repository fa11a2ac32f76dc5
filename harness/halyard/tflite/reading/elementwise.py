# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element from those at its place, and changes of type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator, Tensor
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.operator_options import LIMITS, fused, options
from halyard.tflite.reading.real_numbers import (
    emit_real,
    has_8_bits,
    is_requantised,
    real_operand,
    real_type,
)


def plain(operation: int) -> Handler:
    """An operation of the same inputs that has no arguments."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        mapper.emit(operation, mapper.operands_of(operator), operator)

    return handler


def kept(operation: int) -> Handler:
    """A plain one that has 8 bits where its output has the scale of its input."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        source = mapper.input(operator, 0)
        if has_8_bits(mapper, source) and is_requantised(mapper, operator):
            emit_real(mapper, operation, [real_operand(mapper, source)], operator)
        else:
            mapper.emit(operation, mapper.operands_of(operator), operator)

    return handler


def real(operation: int) -> Handler:
    """A plain one that NNAPI has for real numbers only."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        places = range(len(operator.inputs))
        inputs = [real_operand(mapper, mapper.input(operator, place)) for place in places]
        emit_real(mapper, operation, inputs, operator)

    return handler


def activated(operation: int, kind: type) -> Handler:
    """Of two tensors, with a fused activation."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        activation = fused(options(operator, kind))
        none = mapper.builder.int32(Activation.NONE)
        output = mapper.output(operator)
        if mapper.type_of(output).type == pb.OPERAND_TYPE_TENSOR_INT32 and activation:
            _clamped(mapper, operator, operation, activation)
        elif operation == pb.OPERATION_TYPE_DIV and has_8_bits(mapper, output):
            pair = [real_operand(mapper, mapper.input(operator, place)) for place in range(2)]
            emit_real(mapper, operation, [*pair, mapper.builder.int32(activation)], operator)
        else:
            fuse = mapper.builder.int32(activation) if activation else none
            mapper.emit(operation, [*_pair(mapper, operator), fuse], operator)

    return handler


def divided(mapper: Mapper, operator: Operator) -> None:
    """Of whole numbers TFLite's quotient is cut off, and NNAPI's is rounded down: its size is that
    of the numbers' sizes, and its sign is put on behind."""
    output = mapper.output(operator)
    if mapper.type_of(output).type != pb.OPERAND_TYPE_TENSOR_INT32:
        activated(pb.OPERATION_TYPE_DIV, schema.DivOptionsT)(mapper, operator)
        return
    if fused(options(operator, schema.DivOptionsT)):
        raise NotExpressible("of whole numbers, with an activation")
    builder, name, kind = mapper.builder, mapper.name(operator), mapper.type_of(output)
    truth = pb.OPERAND_TYPE_TENSOR_BOOL8
    zero = mapper.vector(f"{name}/zero", [0])
    sizes, signs = [], []
    for place, operand in enumerate(_pair(mapper, operator)):
        of = mapper.type_of(mapper.input(operator, place))
        side = f"{name}/{'ab'[place]}"
        sizes.append(mapper.emit_inner(pb.OPERATION_TYPE_ABS, [operand], f"{side}/size", of))
        signs.append(
            mapper.emit_inner(
                pb.OPERATION_TYPE_LESS, [operand, zero], f"{side}/sign", replace(of, type=truth)
            )
        )
    none = builder.int32(Activation.NONE)
    size = mapper.emit_inner(pb.OPERATION_TYPE_DIV, [*sizes, none], f"{name}/size", kind)
    negated = mapper.emit_inner(pb.OPERATION_TYPE_NEG, [size], f"{name}/negated", kind)
    differ = mapper.emit_inner(
        pb.OPERATION_TYPE_NOT_EQUAL, signs, f"{name}/signs", replace(kind, type=truth)
    )
    mapper.emit(pb.OPERATION_TYPE_SELECT, [differ, negated, size], operator)


def _clamped(mapper: Mapper, operator: Operator, operation: int, activation: Activation) -> None:
    """Of whole numbers, for which NNAPI fuses nothing."""
    low, high = LIMITS[activation]
    name, kind = mapper.name(operator), mapper.type_of(mapper.output(operator))
    none = mapper.builder.int32(Activation.NONE)
    found = mapper.emit_inner(
        operation, [*_pair(mapper, operator), none], f"{name}/unclamped", kind
    )
    lowest = mapper.vector(f"{name}/lowest", [low])
    if high is None:
        mapper.emit(pb.OPERATION_TYPE_MAXIMUM, [found, lowest], operator)
        return
    found = mapper.emit_inner(pb.OPERATION_TYPE_MAXIMUM, [found, lowest], f"{name}/raised", kind)
    highest = mapper.vector(f"{name}/highest", [high])
    mapper.emit(pb.OPERATION_TYPE_MINIMUM, [found, highest], operator)


def square(mapper: Mapper, operator: Operator) -> None:
    value = mapper.operand(mapper.input(operator, 0))
    none = mapper.builder.int32(Activation.NONE)
    mapper.emit(pb.OPERATION_TYPE_MUL, [value, value, none], operator)


def squared_difference(mapper: Mapper, operator: Operator) -> None:
    """Of 8 bits it is computed with real numbers: NNAPI would round the difference on the way."""
    output = mapper.output(operator)
    none = mapper.builder.int32(Activation.NONE)
    name = f"{mapper.name(operator)}/difference"
    kind = mapper.type_of(output)
    if has_8_bits(mapper, output):
        kind = real_type(mapper, output)
    pair = [real_operand(mapper, mapper.input(operator, place)) for place in range(2)]
    difference = mapper.emit_inner(pb.OPERATION_TYPE_SUB, [*pair, none], name, kind)
    emit_real(mapper, pb.OPERATION_TYPE_MUL, [difference, difference, none], operator)


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
    source = real_operand(mapper, mapper.input(operator, 0))
    inputs = [source, mapper.builder.float32(1.0)]
    emit_real(mapper, pb.OPERATION_TYPE_ELU, inputs, operator)


def softmax(mapper: Mapper, operator: Operator) -> None:
    beta = float(options(operator, schema.SoftmaxOptionsT).beta)
    if not 0 < beta < float("inf"):
        raise NotExpressible(f"its beta is {beta:g}")
    source = mapper.operand(mapper.input(operator, 0))
    mapper.emit(pb.OPERATION_TYPE_SOFTMAX, [source, mapper.builder.float32(beta)], operator)


def log_softmax(mapper: Mapper, operator: Operator) -> None:
    builder = mapper.builder
    source = real_operand(mapper, mapper.input(operator, 0))
    inputs = [source, builder.float32(1.0), builder.int32(-1)]
    emit_real(mapper, pb.OPERATION_TYPE_LOG_SOFTMAX, inputs, operator)


def select(mapper: Mapper, operator: Operator) -> None:
    """NNAPI's has one shape: what is smaller is repeated before."""
    output = mapper.output(operator)
    shape = mapper.type_of(output).dimensions
    condition = mapper.input(operator, 0)
    given = mapper.type_of(condition).dimensions
    # SELECT, which is older, may have a condition for each row.
    rows = operator.code == BuiltinOperator.SELECT and len(given) == 1 and given != shape
    if rows and given[0] != 1:
        given = (*given, *([1] * (len(shape) - 1)))
    inputs = [_condition(mapper, operator, condition, given, shape)]
    for place in (1, 2):
        index = mapper.input(operator, place)
        if mapper.quantised(index) and _steps(mapper, index) != _steps(mapper, output):
            raise NotExpressible("what it chooses from has other scales than its output")
        inputs.append(repeated(mapper, index, shape))
    mapper.emit(pb.OPERATION_TYPE_SELECT, inputs, operator)


def _steps(mapper: Mapper, index: int) -> tuple[float, int]:
    kind = mapper.type_of(index)
    return kind.scale, kind.zero_point


def _condition(
    mapper: Mapper, operator: Operator, index: int, given: Sequence[int], shape: tuple[int, ...]
) -> int:
    """RESHAPE and TILE have no truth values, but LOGICAL_OR broadcasts them."""
    operand, kind = mapper.operand(index), mapper.type_of(index)
    if tuple(given) == kind.dimensions == shape:
        return operand
    name = f"{mapper.name(operator)}/condition"
    if tuple(given) != kind.dimensions:
        values = mapper.values(index)
        if values is None:
            raise NotExpressible("its condition is for rows, and NNAPI's for elements")
        rows = replace(kind, dimensions=tuple(given))
        operand = mapper.constant(name, rows, values.reshape(tuple(given)))
    whole = replace(kind, dimensions=shape)
    never = mapper.constant(f"{name}/never", whole, np.zeros(shape, np.bool_))
    return mapper.emit_inner(pb.OPERATION_TYPE_LOGICAL_OR, [operand, never], name, whole)


def repeated(mapper: Mapper, index: int, shape: tuple[int, ...]) -> int:
    """The operand of a tensor that is broadcast to a shape, element by element there."""
    operand, kind = mapper.operand(index), mapper.type_of(index)
    if kind.dimensions == shape:
        return operand
    name = mapper.tensor(index).name
    if len(shape) < len(kind.dimensions):
        raise NotExpressible(f"{list(kind.dimensions)} does not go into {list(shape)}")
    ones = (1,) * (len(shape) - len(kind.dimensions)) + kind.dimensions
    if ones != kind.dimensions:
        into = mapper.vector(f"{name}/shape", ones)
        kind = replace(kind, dimensions=ones)
        operand = mapper.emit_inner(
            pb.OPERATION_TYPE_RESHAPE, [operand, into], f"{name}/ranked", kind
        )
    times = [whole // part for whole, part in zip(shape, ones, strict=True)]
    if all(each == 1 for each in times):
        return operand
    count = mapper.vector(f"{name}/times", times)
    kind = replace(kind, dimensions=shape)
    return mapper.emit_inner(pb.OPERATION_TYPE_TILE, [operand, count], f"{name}/repeated", kind)


def dequantize(mapper: Mapper, operator: Operator) -> None:
    """Of a constant, float16 weights above all, it is done here and now."""
    source, output = mapper.input(operator, 0), mapper.output(operator)
    values = mapper.values(source)
    if values is not None:
        mapper.fold(output, real_values(mapper.tensor(source), values))
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


def real_values(tensor: Tensor, values: Array) -> Array:
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
