# SPDX-License-Identifier: Apache-2.0
"""QuantizeLinear and DequantizeLinear where no operator between them takes them in."""

from __future__ import annotations

from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb


def quantize(mapper: Mapper, node: Node) -> None:
    data, output = node.input(0), node.outputs[0]
    mapper.quantization(output)
    mapper.require_real(data)
    layout = mapper.layout_of([data])
    source = mapper.operand(data, layout)
    mapper.define(output, pb.OPERATION_TYPE_QUANTIZE, [source], layout)


def dequantize(mapper: Mapper, node: Node) -> None:
    """Nothing is computed before somebody asks for the real values."""
    mapper.quantization(node.input(0))
    mapper.require_real(node.outputs[0])
