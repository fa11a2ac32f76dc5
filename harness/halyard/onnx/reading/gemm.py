# SPDX-License-Identifier: Apache-2.0
"""Gemm as BATCH_MATMUL, a factor and a sum, where FULLY_CONNECTED does not do it; ONNX Runtime's
FusedMatMul, which multiplies transposed matrices and a factor."""

from __future__ import annotations

import numpy as np

from halyard.errors import NotExpressible
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.mapper import PLAIN, Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb


def composed_gemm(mapper: Mapper, node: Node) -> None:
    """Of any matrices and any bias that is broadcast to the result."""
    mapper.require_real(*(name for name in node.inputs if name))
    plan = mapper.plan(node, [name for name in node.inputs if name], activates=True)
    arithmetic, name = Arithmetic(mapper), plan.output
    flags = [mapper.builder.boolean(bool(node.integer(each, 0))) for each in ("transA", "transB")]
    factors = [mapper.operand(each) for each in node.inputs[:2]]
    dims = mapper.dims(node.outputs[0])
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    product = mapper.step(pb.OPERATION_TYPE_BATCH_MATMUL, [*factors, *flags], dims)
    if alpha != 1.0:
        product = arithmetic.mul(product, alpha)
    fuse = mapper.builder.int32(plan.activation)
    if node.input(2):
        bias = mapper.operand(node.input(2))
        given = tuple(mapper.builder.operand(bias).dimensions)
        if np.broadcast_shapes(given, dims) != dims:
            raise NotExpressible(f"its bias of {list(given)} is not broadcast to {list(dims)}")
        if beta != 1.0:
            bias = arithmetic.mul(bias, beta)
        mapper.define(name, pb.OPERATION_TYPE_ADD, [product, bias, fuse])
    else:
        inputs = [product, mapper.number(1.0, product), fuse]
        mapper.define(name, pb.OPERATION_TYPE_MUL, inputs)
    mapper.absorb(node, plan)


def fused_matmul(mapper: Mapper, node: Node) -> None:
    name = node.outputs[0]
    mapper.require_real(*node.inputs)
    rank = len(mapper.shape(name))
    if min(len(mapper.shape(each)) for each in node.inputs) < 2:
        raise NotExpressible("one of its factors is a vector")
    kept = mapper.kept(name)
    if not {rank - 2, rank - 1} <= set(kept):
        raise NotExpressible(f"its result has {rank} dimensions, and NNAPI takes 4")
    factors = [mapper.aligned(each, kept, rank) for each in node.inputs]
    flags = [mapper.builder.boolean(bool(node.integer(each, 0))) for each in ("transA", "transB")]
    inputs, alpha = [*factors, *flags], node.real("alpha", 1.0)
    if alpha == 1.0:
        mapper.define(name, pb.OPERATION_TYPE_BATCH_MATMUL, inputs)
    else:
        product = mapper.step(pb.OPERATION_TYPE_BATCH_MATMUL, inputs, mapper.dims(name))
        Arithmetic(mapper).finish_mul(name, product, alpha, PLAIN)
