# SPDX-License-Identifier: Apache-2.0
"""Reductions along dimensions, and the places of what is largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halyard.errors import NotExpressible
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.mapper import NHWC, PLAIN, Layout, Mapper, Plan
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.pooling import unchanged
from halyard.proto import halyard_pb2 as pb

_OPERATIONS = {
    "ReduceL1": pb.OPERATION_TYPE_REDUCE_SUM,
    "ReduceL2": pb.OPERATION_TYPE_REDUCE_SUM,
    "ReduceMax": pb.OPERATION_TYPE_REDUCE_MAX,
    "ReduceMean": pb.OPERATION_TYPE_MEAN,
    "ReduceMin": pb.OPERATION_TYPE_REDUCE_MIN,
    "ReduceProd": pb.OPERATION_TYPE_REDUCE_PROD,
    "ReduceSum": pb.OPERATION_TYPE_REDUCE_SUM,
    "ReduceSumSquare": pb.OPERATION_TYPE_REDUCE_SUM,
}
_BYTES_TOO = ("ReduceMax", "ReduceMean", "ReduceMin")


def reduction(mapper: Mapper, node: Node) -> None:
    data = node.input(0)
    axes = node.integers("axes")
    if node.input(1):
        axes = mapper.known(node.input(1), "axes").reshape(-1).tolist()
    rank = len(mapper.shape(data))
    if not axes and not node.integer("noop_with_empty_axes", 0):
        axes = list(range(rank))
    # Dimensions of one that the operand has not are reduced by nothing.
    axes = sorted({axis % rank for axis in axes} & {*mapper.kept(data)})
    quantizes = node.operator in _BYTES_TOO
    plan = mapper.plan(node, [data], quantizes=quantizes, fits=unchanged)
    mapper.absorb(node, plan)
    if not plan.quantized:
        mapper.require_real(data)
    keep = bool(node.integer("keepdims", 1))
    layout = _layout(mapper, plan.inputs[0], axes, keep)
    source = mapper.operand(plan.inputs[0], layout)
    if node.operator == "ReduceL1":
        source = Arithmetic(mapper).unary(pb.OPERATION_TYPE_ABS, source)
    elif node.operator in ("ReduceL2", "ReduceSumSquare"):
        source = Arithmetic(mapper).mul(source, source)
    if not axes:
        _unreduced(mapper, node, plan, source, layout if keep else PLAIN)
        return
    operation = _OPERATIONS[node.operator]
    places = [mapper.axis(data, axis, layout) for axis in axes]
    flag = mapper.builder.int32(int(keep))
    if operation != pb.OPERATION_TYPE_MEAN:
        flag = mapper.builder.boolean(keep)
    inputs = [source, mapper.builder.vector("", places), flag]
    result = layout if keep else PLAIN
    extents = list(mapper.builder.operand(source).dimensions)
    dims = [
        1 if place in places else extent
        for place, extent in enumerate(extents)
        if keep or place not in places
    ] or [1]
    if node.operator == "ReduceL2":
        total = mapper.step(operation, inputs, dims)
        mapper.define(plan.output, pb.OPERATION_TYPE_SQRT, [total], result, dims)
    else:
        mapper.define(plan.output, operation, inputs, result, dims)


def _unreduced(mapper: Mapper, node: Node, plan: Plan, source: int, layout: Layout) -> None:
    """A sum of one element each, and what is done before and after it."""
    if node.operator == "ReduceL2":
        source = Arithmetic(mapper).unary(pb.OPERATION_TYPE_SQRT, source)
    dims = mapper.tensor_type(plan.output, layout).dimensions
    mapper.hold(plan.output, layout, mapper.reshaped(source, dims, plan.output))


def _layout(mapper: Mapper, name: str, axes: Sequence[int], keep: bool) -> Layout:
    """NHWC only where what is left has the same order in both."""
    layout = mapper.layout_of([name])
    rank = len(mapper.shape(name))
    if layout is NHWC and not keep:
        kept = [mapper.axis(name, axis, NHWC) for axis in range(rank) if axis not in axes]
        if kept != sorted(kept):
            return PLAIN
    return layout


def largest_place(mapper: Mapper, node: Node) -> None:
    """ArgMax and ArgMin."""
    data, output = node.input(0), node.outputs[0]
    if node.integer("select_last_index", 0):
        raise NotExpressible("of equals it takes the last, and NNAPI takes the first")
    mapper.require_real(data)
    source = mapper.operand(data)
    axis = mapper.axis(data, node.integer("axis", 0))
    maximum = node.operator == "ArgMax"
    operation = pb.OPERATION_TYPE_ARGMAX if maximum else pb.OPERATION_TYPE_ARGMIN
    dims = list(mapper.dims(data))
    del dims[axis]
    if not dims:
        raise NotExpressible("its output is a scalar, which NNAPI has no tensor for")
    inputs = [source, mapper.builder.int32(axis)]
    mapper.define(output, operation, inputs, PLAIN, dims)


def largest(mapper: Mapper, node: Node) -> None:
    """TopK."""
    data = node.input(0)
    count = node.integer("k", 0)
    if node.input(1):
        count = int(mapper.known(node.input(1), "count").reshape(-1)[0])
    dims = mapper.dims(data)
    if mapper.axis(data, node.integer("axis", -1)) != len(dims) - 1:
        raise NotExpressible("it is not along the last dimension, as TOPK_V2 is")
    if not node.integer("largest", 1):
        raise NotExpressible("it takes the smallest, and TOPK_V2 the largest")
    mapper.require_real(data)
    values, places = node.outputs[0], node.outputs[1]
    source, length = mapper.operand(data), dims[-1]
    if places in mapper.network.uses or places in mapper.network.outputs:
        # Of equal ones ONNX has the first one first, and TOPK_V2 the last one: they change places.
        source = _reversed(mapper, source)
    outputs = [(name, mapper.tensor_type(name)) for name in (values, places)]
    inputs = [source, mapper.builder.int32(count)]
    results = mapper.emit_n(pb.OPERATION_TYPE_TOPK_V2, inputs, outputs)
    mapper.hold(values, PLAIN, results[0])
    if source == mapper.operand(data):
        mapper.hold(places, PLAIN, results[1])
        return
    last = mapper.builder.constant(
        "", replace(mapper.like(results[1]), dimensions=(1,)), np.full(1, length - 1, np.int32)
    )
    none = mapper.builder.int32(0)
    mapper.define(places, pb.OPERATION_TYPE_SUB, [last, results[1], none])


def _reversed(mapper: Mapper, source: int) -> int:
    """From the last to the first along the last dimension."""
    dims = mapper.like(source).dimensions
    rank, builder = len(dims), mapper.builder
    begin = [0] * (rank - 1) + [dims[-1] - 1]
    end = [*dims[:-1], -1]
    stride = [1] * (rank - 1) + [-1]
    # An end before the first element has no number, but a bit of the mask.
    masks = [builder.int32(value) for value in (0, 1 << (rank - 1), 0)]
    vectors = [builder.vector("", values) for values in (begin, end, stride)]
    return mapper.step(pb.OPERATION_TYPE_STRIDED_SLICE, [source, *vectors, *masks])
