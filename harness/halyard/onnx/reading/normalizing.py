# SPDX-License-Identifier: Apache-2.0
"""LayerNormalization and InstanceNormalization, composed: NNAPI has neither with weights for each
element."""

from __future__ import annotations

from halyard.errors import NotExpressible
from halyard.model import TensorType, dtype_of
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.mapper import MAX_RANK, NHWC, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.one_dimensional import of_image
from halyard.proto import halyard_pb2 as pb


def layer_normalization(mapper: Mapper, node: Node) -> None:
    data = node.input(0)
    if any(node.outputs[1:]):
        raise NotExpressible("it gives mean and deviation, which are not composed")
    mapper.require_real(data)
    arithmetic, source = Arithmetic(mapper), mapper.operand(data)
    shape = tuple(mapper.builder.operand(source).dimensions)
    first = mapper.axis(data, node.integer("axis", -1))
    axes = mapper.builder.vector("", range(first, len(shape)))
    keep, none = mapper.builder.int32(1), mapper.builder.int32(0)
    few = shape[:first] + (1,) * (len(shape) - first)
    mean = mapper.step(pb.OPERATION_TYPE_MEAN, [source, axes, keep], few)
    centred = mapper.step(pb.OPERATION_TYPE_SUB, [source, mean, none])
    squares = arithmetic.mul(centred, centred)
    variance = mapper.step(pb.OPERATION_TYPE_MEAN, [squares, axes, keep], few)
    spread = arithmetic.add(variance, node.real("epsilon", 1e-5))
    factor = mapper.step(pb.OPERATION_TYPE_RSQRT, [spread])
    name = node.outputs[0]
    if not node.input(1):
        mapper.define(name, pb.OPERATION_TYPE_MUL, [centred, factor, none])
        return
    normal = arithmetic.mul(centred, factor)
    gamma = _weights(mapper, data, node.input(1))
    if not node.input(2):
        mapper.define(name, pb.OPERATION_TYPE_MUL, [normal, gamma, none])
        return
    beta = _weights(mapper, data, node.input(2))
    mapper.define(name, pb.OPERATION_TYPE_ADD, [arithmetic.mul(normal, gamma), beta, none])


def instance_normalization(mapper: Mapper, node: Node) -> None:
    data = of_image(mapper, node).input(0)
    mapper.require_real(data)
    gamma, beta = mapper.known(node.input(1), "scale"), mapper.known(node.input(2), "bias")
    arithmetic, source = Arithmetic(mapper), mapper.operand(data, NHWC)
    batch, _, _, channels = mapper.builder.operand(source).dimensions
    axes = mapper.builder.vector("", (1, 2))
    keep, none = mapper.builder.int32(1), mapper.builder.int32(0)
    few = (batch, 1, 1, channels)
    mean = mapper.step(pb.OPERATION_TYPE_MEAN, [source, axes, keep], few)
    centred = mapper.step(pb.OPERATION_TYPE_SUB, [source, mean, none])
    variance = mapper.step(
        pb.OPERATION_TYPE_MEAN, [arithmetic.mul(centred, centred), axes, keep], few
    )
    spread = arithmetic.add(variance, node.real("epsilon", 1e-5))
    normal = arithmetic.mul(centred, mapper.step(pb.OPERATION_TYPE_RSQRT, [spread]))
    kind = mapper.builder.operand(source).type
    factor, shift = (
        mapper.builder.constant(
            "", TensorType(kind, (channels,)), values.astype(dtype_of(kind)).reshape(channels)
        )
        for values in (gamma, beta)
    )
    scaled = arithmetic.mul(normal, factor)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_ADD, [scaled, shift, none], NHWC)


def _weights(mapper: Mapper, data: str, name: str) -> int:
    """Of as many dimensions as the operand of the data, where that has lost some."""
    mapper.known(name, "scale or bias")
    mapper.require_real(name)
    rank = len(mapper.shape(data))
    return (
        mapper.aligned(name, mapper.kept(data), rank) if rank > MAX_RANK else mapper.operand(name)
    )
