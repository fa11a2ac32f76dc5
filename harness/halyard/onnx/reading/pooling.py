# SPDX-License-Identifier: Apache-2.0
"""Poolings over windows and over whole images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.onnx.reading.mapper import NHWC, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.one_dimensional import of_image
from halyard.onnx.reading.quantities import Quantization
from halyard.onnx.reading.windows import Window, window
from halyard.proto import halyard_pb2 as pb

_OPERATIONS = {
    "AveragePool": pb.OPERATION_TYPE_AVERAGE_POOL_2D,
    "MaxPool": pb.OPERATION_TYPE_MAX_POOL_2D,
}


# Since this operator set an average says whether it is of the padding, too.
_COUNTED = 7


def unchanged(inputs: Sequence[Quantization], output: Quantization) -> bool:
    """Whether the node can compute with the bytes themselves."""
    return all(each == output for each in inputs)


def pooling(mapper: Mapper, node: Node) -> None:
    node = of_image(mapper, node)
    data = node.input(0)
    moves = window(mapper, node, node.integers("kernel_shape"), node.outputs[0])
    if moves.dilations != (1, 1):
        raise NotExpressible("it is dilated, and NNAPI's poolings are not")
    if len(node.outputs) > 1 and node.outputs[1]:
        raise NotExpressible("it gives indices, and MAX_POOL_2D does not")
    if any(pad >= span for pad, span in zip(moves.pads, _spans(moves), strict=True)):
        raise NotExpressible("some of its windows may lie in the padding alone")
    if node.operator == "AveragePool" and node.opset < _COUNTED and any(moves.pads):
        raise NotExpressible("its version does not say whether its padding counts")
    plan = mapper.plan(node, [data], activates=True, quantizes=True, fits=unchanged)
    if not plan.quantized:
        mapper.require_real(data)
    source = mapper.operand(plan.inputs[0], NHWC)
    if node.operator == "AveragePool" and node.integer("count_include_pad", 0):
        source, moves = _padded(mapper, source, moves)
    builder = mapper.builder
    inputs = [
        source,
        *(builder.int32(pad) for pad in moves.pads),
        builder.int32(moves.strides[1]),
        builder.int32(moves.strides[0]),
        builder.int32(moves.kernel[1]),
        builder.int32(moves.kernel[0]),
        builder.int32(plan.activation),
    ]
    mapper.define(plan.output, _OPERATIONS[node.operator], inputs, NHWC)
    mapper.absorb(node, plan)


def _spans(moves: Window) -> tuple[int, int, int, int]:
    """Of the kernel, as the padding is told."""
    return moves.kernel[1], moves.kernel[1], moves.kernel[0], moves.kernel[0]


def _padded(mapper: Mapper, source: int, moves: Window) -> tuple[int, Window]:
    """With zeros that count, which NNAPI's own padding does not, nor what hangs over."""
    if not any((*moves.begins, *moves.ends)):
        return source, moves
    pairs = np.array([[0, 0], *zip(moves.begins, moves.ends, strict=True), [0, 0]], np.int32)
    dims = [
        extent + int(both.sum())
        for extent, both in zip(mapper.builder.operand(source).dimensions, pairs, strict=True)
    ]
    amounts = mapper.builder.constant(
        "", TensorType(pb.OPERAND_TYPE_TENSOR_INT32, pairs.shape), pairs
    )
    padded = mapper.step(pb.OPERATION_TYPE_PAD, [source, amounts], dims)
    return padded, replace(moves, begins=(0, 0), ends=(0, 0))


def global_pooling(mapper: Mapper, node: Node) -> None:
    data = of_image(mapper, node).input(0)
    maximum = node.operator == "GlobalMaxPool"
    plan = mapper.plan(node, [data], quantizes=True, fits=unchanged)
    if not plan.quantized:
        mapper.require_real(data)
    operation = pb.OPERATION_TYPE_REDUCE_MAX if maximum else pb.OPERATION_TYPE_MEAN
    axes = mapper.builder.vector("", (1, 2))
    keep = mapper.builder.boolean(True) if maximum else mapper.builder.int32(1)
    mapper.define(plan.output, operation, [mapper.operand(plan.inputs[0], NHWC), axes, keep], NHWC)
    mapper.absorb(node, plan)
