# SPDX-License-Identifier: Apache-2.0
"""Reductions whose sum is of a logarithm: ReduceLogSum and ReduceLogSumExp."""

from __future__ import annotations

from collections.abc import Mapping

from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb

# Of each type: what is beyond it is infinite.
_LARGEST: Mapping[int, float] = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: 3.4028234663852886e38,
    pb.OPERAND_TYPE_TENSOR_FLOAT16: 65504.0,
}


def log_sum(mapper: Mapper, node: Node) -> None:
    """ReduceLogSumExp too, whose sum is of what lies below the largest, so that it does not
    overflow."""
    data, output = node.input(0), node.outputs[0]
    mapper.require_real(data)
    source, arithmetic = mapper.operand(data), Arithmetic(mapper)
    places = _places(mapper, node)
    few = [
        1 if place in places else extent
        for place, extent in enumerate(mapper.builder.operand(source).dimensions)
    ]
    none = mapper.builder.int32(0)

    def reduced(operation: int, index: int) -> int:
        if not places:
            return index
        inputs = [index, mapper.builder.vector("", places), mapper.builder.boolean(True)]
        return mapper.step(operation, inputs, few)

    if node.operator == "ReduceLogSum":
        total = reduced(pb.OPERATION_TYPE_REDUCE_SUM, source)
        result = arithmetic.unary(pb.OPERATION_TYPE_LOG, total)
    else:
        # Infinity less infinity would be NaN.
        end = _LARGEST[mapper.like(source).type]
        top = reduced(pb.OPERATION_TYPE_REDUCE_MAX, source)
        top = mapper.step(pb.OPERATION_TYPE_MAXIMUM, [top, mapper.number(-end, top)])
        top = mapper.step(pb.OPERATION_TYPE_MINIMUM, [top, mapper.number(end, top)])
        below = mapper.step(pb.OPERATION_TYPE_SUB, [source, top, none])
        powers = arithmetic.unary(pb.OPERATION_TYPE_EXP, below)
        total = reduced(pb.OPERATION_TYPE_REDUCE_SUM, powers)
        logarithm = arithmetic.unary(pb.OPERATION_TYPE_LOG, total)
        result = mapper.step(pb.OPERATION_TYPE_ADD, [logarithm, top, none])
    mapper.define_as(output, result)


def _places(mapper: Mapper, node: Node) -> list[int]:
    """Of the dimensions that are reduced: all where none are named, unless the node says not."""
    data = node.input(0)
    rank = len(mapper.shape(data))
    axes = node.integers("axes")
    if node.input(1):
        axes = mapper.known(node.input(1), "axes").reshape(-1).tolist()
    if not axes and not node.integer("noop_with_empty_axes", 0):
        axes = list(range(rank))
    # Dimensions of one that the operand has not are reduced by nothing.
    kept = {each % rank for each in axes} & {*mapper.kept(data)}
    return sorted(mapper.axis(data, axis) for axis in kept)
