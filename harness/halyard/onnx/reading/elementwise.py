# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and choices, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from halyard.errors import NotExpressible
from halyard.model import TensorType, dtype_of
from halyard.onnx.reading.mapper import FLOATS, MAX_RANK, NHWC, Layout, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.quantities import Quantization
from halyard.proto import halyard_pb2 as pb

_ARITHMETIC = {
    "Add": pb.OPERATION_TYPE_ADD,
    "Sub": pb.OPERATION_TYPE_SUB,
    "Mul": pb.OPERATION_TYPE_MUL,
    "Div": pb.OPERATION_TYPE_DIV,
}
_CHAINS = {
    "Max": pb.OPERATION_TYPE_MAXIMUM,
    "Min": pb.OPERATION_TYPE_MINIMUM,
    "Sum": pb.OPERATION_TYPE_ADD,
    "Mean": pb.OPERATION_TYPE_ADD,
}
_PAIRS = {
    "And": pb.OPERATION_TYPE_LOGICAL_AND,
    "Equal": pb.OPERATION_TYPE_EQUAL,
    "Greater": pb.OPERATION_TYPE_GREATER,
    "GreaterOrEqual": pb.OPERATION_TYPE_GREATER_EQUAL,
    "Less": pb.OPERATION_TYPE_LESS,
    "LessOrEqual": pb.OPERATION_TYPE_LESS_EQUAL,
    "Or": pb.OPERATION_TYPE_LOGICAL_OR,
}
_UNARY = {
    "Abs": pb.OPERATION_TYPE_ABS,
    "Exp": pb.OPERATION_TYPE_EXP,
    "Floor": pb.OPERATION_TYPE_FLOOR,
    "Log": pb.OPERATION_TYPE_LOG,
    "Neg": pb.OPERATION_TYPE_NEG,
    "Not": pb.OPERATION_TYPE_LOGICAL_NOT,
    "Sin": pb.OPERATION_TYPE_SIN,
    "Sqrt": pb.OPERATION_TYPE_SQRT,
}


def operands(mapper: Mapper, names: Sequence[str]) -> tuple[list[int], Layout]:
    """Of what is broadcast against each other, in the layout that spares transposes."""
    shapes = [mapper.shape(name) for name in names]
    rank = max(map(len, shapes))
    if rank > MAX_RANK:
        whole = np.broadcast_shapes(*shapes)
        ones = [axis for axis, extent in enumerate(whole) if extent == 1][: rank - MAX_RANK]
        kept = [axis for axis in range(rank) if axis not in ones]
        return [mapper.aligned(name, kept, rank) for name in names], Layout.PLAIN
    layout = mapper.layout_of(names)
    if layout is NHWC and rank != MAX_RANK:
        layout = Layout.PLAIN
    return [mapper.broadcast(name, rank, layout) for name in names], layout


def arithmetic(mapper: Mapper, node: Node) -> None:
    operation = _ARITHMETIC[node.operator]
    plan = mapper.plan(
        node,
        node.inputs,
        activates=True,
        quantizes=node.operator != "Div",
        fits=_coarser if node.operator == "Mul" else None,
    )
    if node.operator == "Div" or plan.activation:
        mapper.require_real(node.outputs[0])
    inputs, layout = operands(mapper, plan.inputs)
    fuse = mapper.builder.int32(plan.activation)
    mapper.define(plan.output, operation, [*inputs, fuse], layout)
    mapper.absorb(node, plan)


def _coarser(inputs: Sequence[Quantization], output: Quantization) -> bool:
    """What MUL wants of the scales."""
    return output.scale > float(np.prod([np.float32(each.scale) for each in inputs]))


def chain(mapper: Mapper, node: Node) -> None:
    """Of any number of inputs, one after the other."""
    operation = _CHAINS[node.operator]
    if node.operator == "Mean":
        mapper.require_real(*node.inputs)
    names = list(node.inputs)
    if len(names) == 1:
        mapper.alias(node.outputs[0], names[0])
        return
    inputs, layout = operands(mapper, names)
    fuse = [mapper.builder.int32(0)] if operation == pb.OPERATION_TYPE_ADD else []
    result = inputs[0]
    for index in inputs[1:-1]:
        dims = [mapper.builder.operand(each).dimensions for each in (result, index)]
        shape = np.broadcast_shapes(*map(tuple, dims))
        result = mapper.step(operation, [result, index, *fuse], shape)
    last = [result, inputs[-1], *fuse]
    if node.operator != "Mean":
        mapper.define(node.outputs[0], operation, last, layout)
        return
    whole = mapper.step(operation, last, mapper.tensor_type(node.outputs[0], layout).dimensions)
    share = mapper.number(1 / len(names), whole)
    none = mapper.builder.int32(0)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_MUL, [whole, share, none], layout)


def pair(mapper: Mapper, node: Node) -> None:
    inputs, layout = operands(mapper, node.inputs)
    mapper.define(node.outputs[0], _PAIRS[node.operator], inputs, layout)


def unary(mapper: Mapper, node: Node) -> None:
    inputs, layout = operands(mapper, node.inputs)
    mapper.define(node.outputs[0], _UNARY[node.operator], inputs, layout)


def reciprocal(mapper: Mapper, node: Node) -> None:
    mapper.require_real(node.input(0))
    inputs, layout = operands(mapper, node.inputs)
    one, none = mapper.number(1.0, inputs[0]), mapper.builder.int32(0)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_DIV, [one, inputs[0], none], layout)


def power(mapper: Mapper, node: Node) -> None:
    """By a product or a root where those are it."""
    mapper.require_real(node.input(0))
    base, exponent = node.inputs
    known = mapper.constant(exponent)
    if known is not None and known.size == 1:
        inputs, layout = operands(mapper, [base])
        none = mapper.builder.int32(0)
        value = float(known.reshape(-1)[0])
        if value == 2:
            twice = [inputs[0], inputs[0], none]
            mapper.define(node.outputs[0], pb.OPERATION_TYPE_MUL, twice, layout)
        elif value == 0.5:
            mapper.define(node.outputs[0], pb.OPERATION_TYPE_SQRT, inputs, layout)
        else:
            raised = [inputs[0], mapper.number(value, inputs[0])]
            mapper.define(node.outputs[0], pb.OPERATION_TYPE_POW, raised, layout)
        return
    mapper.require_real(exponent)
    inputs, layout = operands(mapper, [base, exponent])
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_POW, inputs, layout)


def where(mapper: Mapper, node: Node) -> None:
    """SELECT takes three of one shape: the others are spread by sums with zeros."""
    condition, a, b = node.inputs
    output = mapper.dims(node.outputs[0])
    if mapper.constant(condition) is not None:
        raise NotExpressible("it chooses by a constant, which is not spread")
    if mapper.dims(condition) != output:
        raise NotExpressible("its condition has another shape than its output")
    chosen = [_spread(mapper, name, output) for name in (a, b)]
    inputs = [mapper.operand(condition), *chosen]
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_SELECT, inputs)


def _spread(mapper: Mapper, name: str, dims: tuple[int, ...]) -> int:
    index = mapper.operand(name)
    if mapper.dims(name) == dims:
        return index
    tensor = mapper.tensor_type(name)
    values = mapper.constant(name)
    if tensor.type not in (*FLOATS, pb.OPERAND_TYPE_TENSOR_INT32):
        raise NotExpressible("its choices have another shape than its output")
    full = TensorType(tensor.type, dims)
    dtype = dtype_of(tensor.type)
    if values is not None:
        spread = np.broadcast_to(values.astype(dtype), dims)
        return mapper.builder.constant(name, full, np.ascontiguousarray(spread))
    zeros = mapper.builder.constant("", full, np.zeros(dims, dtype))
    return mapper.step(pb.OPERATION_TYPE_ADD, [index, zeros, mapper.builder.int32(0)], dims)


def conversion(mapper: Mapper, node: Node) -> None:
    """Cast. Between INT64 and INT32, which are one here, nothing is to be done."""
    wanted = mapper.network.type(node.outputs[0]).element
    if wanted in (TensorProto.UINT8, TensorProto.INT8):
        raise NotExpressible("it makes bytes without a scale, which NNAPI has no tensors of")
    inputs, layout = operands(mapper, [node.input(0)])
    if mapper.builder.operand(inputs[0]).type == mapper.tensor_type(node.outputs[0]).type:
        mapper.alias(node.outputs[0], node.input(0))
        return
    made, given = mapper.tensor_type(node.outputs[0], layout), mapper.like(inputs[0])
    operation = pb.OPERATION_TYPE_CAST
    # CAST knows no truth values: they choose between ones and zeros, or are what is not zero.
    if given.type == pb.OPERAND_TYPE_TENSOR_BOOL8:
        operation = pb.OPERATION_TYPE_SELECT
        inputs += [filled(mapper, made, value) for value in (1, 0)]
    elif made.type == pb.OPERAND_TYPE_TENSOR_BOOL8:
        operation = pb.OPERATION_TYPE_NOT_EQUAL
        inputs.append(filled(mapper, replace(given, dimensions=(1,)), 0))
    mapper.define(node.outputs[0], operation, inputs, layout)


def filled(mapper: Mapper, tensor: TensorType, value: int) -> int:
    values = np.full(tensor.dimensions, value, dtype_of(tensor.type))
    return mapper.builder.constant("", tensor, values)
