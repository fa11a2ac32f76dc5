# SPDX-License-Identifier: Apache-2.0
"""LRN: LOCAL_RESPONSE_NORMALIZATION, which divides by a power of the squares around a channel."""

from __future__ import annotations

from halyard.errors import NotExpressible
from halyard.onnx.reading.mapper import MAX_RANK, Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb


def local_response(mapper: Mapper, node: Node) -> None:
    """ONNX divides α by the number of channels that it sums, NNAPI does not."""
    data, size = node.input(0), node.integer("size", 1)
    if size % 2 == 0:
        raise NotExpressible(
            f"it sums over {size} channels, more on one side than on the other, and "
            "LOCAL_RESPONSE_NORMALIZATION over as many on both"
        )
    mapper.require_real(data)
    rank = len(mapper.shape(data))
    if rank > MAX_RANK:
        raise NotExpressible(f"its input has {rank} dimensions, and NNAPI takes {MAX_RANK}")
    layout = mapper.layout_of([data])
    source = mapper.operand(data, layout)
    builder = mapper.builder
    inputs = [
        source,
        builder.int32((size - 1) // 2),
        mapper.real(node.real("bias", 1.0), source),
        mapper.real(node.real("alpha", 1e-4) / size, source),
        mapper.real(node.real("beta", 0.75), source),
        builder.int32(mapper.axis(data, 1, layout)),
    ]
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_LOCAL_RESPONSE_NORMALIZATION, inputs, layout)
