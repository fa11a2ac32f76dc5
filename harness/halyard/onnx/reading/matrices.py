# SPDX-License-Identifier: Apache-2.0
"""Gemm and MatMul: FULLY_CONNECTED for constant weights, BATCH_MATMUL for computed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, dtype_of
from halyard.onnx.reading import quantities
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.filters import Filter, bias_operand, is_legal_gemm, quantized_filter
from halyard.onnx.reading.gemm import composed_gemm
from halyard.onnx.reading.mapper import Mapper, Plan, cast
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.quantities import Quantization
from halyard.proto import halyard_pb2 as pb


def gemm(mapper: Mapper, node: Node) -> None:
    weights = mapper.constant(node.input(1))
    if weights is None or node.integer("transA", 0):
        composed_gemm(mapper, node)
        return
    axis = 0 if node.integer("transB", 0) else 1
    units = weights.shape[axis]
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    bias: Array = np.zeros(units, weights.dtype)
    rest = node.input(2)
    given = mapper.constant(rest) if rest else None
    if given is not None:
        rows = np.broadcast_to(given, mapper.shape(node.outputs[0]))
        if rest and (rows == rows[:1]).all():
            bias, rest = rows[0] * np.asarray(beta, given.dtype), ""
    scaled = weights * np.asarray(alpha, weights.dtype)
    if not rest:
        _dense(mapper, node, scaled, axis, bias, [], quantizes=alpha == 1.0)
        return
    # A bias that differs from row to row, or is computed, is added behind.
    mapper.require_real(node.input(0), rest)
    source = mapper.operand(node.input(0))
    kind = mapper.builder.operand(source).type
    matrix = cast(scaled if axis == 0 else scaled.T, dtype_of(kind))
    filters = Filter(kind, matrix)
    name, none = node.outputs[0], mapper.builder.int32(0)
    weights_of = mapper.builder.constant(f"{name}/weights", filters.tensor(matrix.shape, 0), matrix)
    zeros = bias_operand(mapper, f"{name}/bias", bias, source, filters)
    inputs = [source, weights_of, zeros, none]
    product = mapper.step(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, mapper.shape(name))
    summand = mapper.operand(rest)
    if beta != 1.0:
        summand = Arithmetic(mapper).mul(summand, beta)
    mapper.define(name, pb.OPERATION_TYPE_ADD, [product, summand, none])


def matmul(mapper: Mapper, node: Node) -> None:
    weights = mapper.constant(node.input(1))
    shape = mapper.shape(node.input(0))
    if len(shape) < 2 or len(mapper.shape(node.input(1))) < 2:
        raise NotExpressible("one of its factors is a vector")
    if weights is None or weights.ndim > 2 or mapper.constant(node.input(0)) is not None:
        _batched(mapper, node)
        return
    units = weights.shape[1]
    bias: Array = np.zeros(units, weights.dtype)
    after: list[Node] = []
    following = mapper.network.sole_use(node.outputs[0])
    if following is not None and following.operator == "Add" and following.opset >= 7:
        others = [name for name in following.inputs if name != node.outputs[0]]
        given = mapper.constant(others[0]) if others else None
        if given is not None and given.shape == (units,):
            bias, after = given, [following]
    _dense(mapper, node, weights, 1, bias, after, quantizes=True)


def _dense(
    mapper: Mapper,
    node: Node,
    weights: Array,
    axis: int,
    bias: Array,
    after: Sequence[Node],
    *,
    quantizes: bool,
) -> None:
    """`axis`: of the weights, along which the units are."""
    data = node.input(0)
    plan = mapper.plan(
        node, [data], after=after, activates=True, quantizes=quantizes, fits=is_legal_gemm
    )
    filters = None
    if plan.quantized:
        held = quantities.weights_of(mapper.network, mapper.root(node.input(1)))
        given = mapper.quantization(plan.inputs[0])
        filters = None if held is None else quantized_filter(held, given, axis)
        if filters is None:
            plan = mapper.plan(node, [data], after=after, activates=True)
    if not plan.quantized:
        mapper.require_real(data)
    source = mapper.operand(plan.inputs[0])
    if filters is None:
        filters = Filter(mapper.builder.operand(source).type, weights)
    columns, units = weights.shape[1 - axis], weights.shape[axis]
    values = cast(filters.values if axis == 0 else filters.values.T, dtype_of(filters.type))
    rows = math.prod(mapper.dims(data)) // columns
    builder, name = mapper.builder, plan.output
    fuse = builder.int32(plan.activation)
    added = bias_operand(mapper, f"{name}/bias", bias, source, filters)
    result = mapper.tensor_type(name)
    if filters.is_per_channel:
        # FULLY_CONNECTED has no scale for each unit, but a convolution over one point has.
        pixels = mapper.reshaped(source, (rows, 1, 1, columns), f"{name}/pixels")
        shape = (units, 1, 1, columns)
        kernel = builder.constant(
            f"{node.input(1)}/filter", filters.tensor(shape, 0), values.reshape(shape)
        )
        one = builder.int32(1)
        inputs = [pixels, kernel, added, *([builder.int32(0)] * 4), one, one, fuse]
        operation = pb.OPERATION_TYPE_CONV_2D
        dims: tuple[int, ...] = (rows, 1, 1, units)
    else:
        matrix = builder.constant(
            f"{node.input(1)}/weights", filters.tensor(values.shape, 0), values
        )
        inputs = [source, matrix, added, fuse]
        operation, dims = pb.OPERATION_TYPE_FULLY_CONNECTED, (rows, units)
    if dims == result.dimensions:
        mapper.define(name, operation, inputs)
    else:
        flat = mapper.emit(operation, inputs, f"{name}/rows", replace(result, dimensions=dims))
        shape_of = builder.vector("", result.dimensions)
        mapper.define(name, pb.OPERATION_TYPE_RESHAPE, [flat, shape_of])
    mapper.absorb(node, plan)


def _batched(mapper: Mapper, node: Node) -> None:
    plan = mapper.plan(node, list(node.inputs), quantizes=True, fits=_signed)
    if not plan.quantized:
        mapper.require_real(*node.inputs)
    factors = [_factor(mapper, plan, place) for place in (0, 1)]
    flags = [mapper.builder.boolean(False)] * 2
    mapper.define(plan.output, pb.OPERATION_TYPE_BATCH_MATMUL, [*factors, *flags])
    mapper.absorb(node, plan)


def _factor(mapper: Mapper, plan: Plan, place: int) -> int:
    """Of as many dimensions as the product, and of the same ones."""
    rank = len(mapper.shape(plan.output))
    kept = mapper.kept(plan.output)
    if not {rank - 2, rank - 1} <= set(kept):
        raise NotExpressible(f"its result has {rank} dimensions, and NNAPI takes 4")
    return mapper.aligned(plan.inputs[place], kept, rank)


def _signed(_: Sequence[Quantization], output: Quantization) -> bool:
    return output.is_signed
