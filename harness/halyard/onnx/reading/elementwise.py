# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and choices, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from halyard.errors import NotExpressible
from halyard.model import dtype_of
from halyard.onnx.reading.mapper import MAX_RANK, NHWC, PLAIN, Layout, Mapper, cast
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.quantities import Quantization
from halyard.onnx.reading.spreading import filled
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
    computed = [name for name in names if mapper.constant(name) is None]
    # The result is of one rank there.
    if layout is NHWC and all(len(mapper.shape(name)) != rank for name in computed):
        layout = Layout.PLAIN
    return [mapper.broadcast(name, rank, layout) for name in names], layout


def pair_of(mapper: Mapper, node: Node, names: Sequence[str]) -> tuple[list[int], Layout]:
    """Of two. Before operator set 7 the second one's dimensions stand at an axis of the first
    one's, which is the one that ends with the last unless told."""
    first, second = mapper.shape(names[0]), mapper.shape(names[1])
    if node.opset >= 7 or first == second:
        return operands(mapper, names)
    if not node.integer("broadcast", 0):
        raise NotExpressible("its inputs differ in shape, and it does not broadcast")
    axis = node.integer("axis", len(first) - len(second))
    axis += len(first) if axis < 0 else 0
    full = (1,) * axis + second + (1,) * (len(first) - axis - len(second))
    if len(full) != len(first) or any(b not in (1, a) for a, b in zip(first, full, strict=True)):
        raise NotExpressible(f"its second input has no place at axis {axis} of the first")
    kept = mapper.kept(names[0])
    source = mapper.operand(names[0])
    dims = tuple(full[each] for each in kept) or (1,)
    values = mapper.constant(names[1])
    if values is None:
        placed = mapper.reshaped(mapper.operand(names[1]), dims, f"{names[1]}/placed")
    else:
        tensor = replace(mapper.tensor_type(names[1]), dimensions=dims)
        held = cast(values.reshape(dims), dtype_of(tensor.type))
        placed = mapper.builder.constant(names[1], tensor, held)
    return [source, placed], PLAIN


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
    inputs, layout = pair_of(mapper, node, plan.inputs)
    fuse = mapper.builder.int32(plan.activation)
    mapper.define(plan.output, operation, [*inputs, fuse], layout)
    mapper.absorb(node, plan)


def _coarser(inputs: Sequence[Quantization], output: Quantization) -> bool:
    """MUL's rule for the scales."""
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
    inputs, layout = pair_of(mapper, node, node.inputs)
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
        # Of as many dimensions as the base, though an exponent of one element may have more.
        same = len(mapper.shape(base)) == len(mapper.shape(node.outputs[0]))
        layout = mapper.layout_of([base]) if same else PLAIN
        source = mapper.operand(base, layout)
        value = float(known.reshape(-1)[0])
        operation, inputs = pb.OPERATION_TYPE_POW, [source, mapper.number(value, source)]
        if value == 2:
            operation, inputs = pb.OPERATION_TYPE_MUL, [source, source, mapper.builder.int32(0)]
        elif value == 0.5:
            operation, inputs = pb.OPERATION_TYPE_SQRT, [source]
        dims = mapper.builder.operand(source).dimensions
        mapper.define(node.outputs[0], operation, inputs, layout, dims)
        return
    mapper.require_real(exponent)
    inputs, layout = pair_of(mapper, node, [base, exponent])
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_POW, inputs, layout)


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
