# SPDX-License-Identifier: Apache-2.0
"""Operators that give truth values, by comparisons."""

from __future__ import annotations

import math

from halyard.onnx.reading.elementwise import operands
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb


def is_nan(mapper: Mapper, node: Node) -> None:
    """IsNaN: a value that does not equal itself."""
    mapper.require_real(node.input(0))
    [source], layout = operands(mapper, [node.input(0)])
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_NOT_EQUAL, [source, source], layout)


def is_infinite(mapper: Mapper, node: Node) -> None:
    mapper.require_real(node.input(0))
    [source], layout = operands(mapper, [node.input(0)])
    below, above = (bool(node.integer(f"detect_{each}", 1)) for each in ("negative", "positive"))
    output = node.outputs[0]
    if not (below or above):
        # Nothing is less than itself.
        mapper.define(output, pb.OPERATION_TYPE_LESS, [source, source], layout)
        return
    if below and above:
        source = mapper.step(pb.OPERATION_TYPE_ABS, [source])
    limit = mapper.number(math.inf if above else -math.inf, source)
    mapper.define(output, pb.OPERATION_TYPE_EQUAL, [source, limit], layout)


def exclusive_or(mapper: Mapper, node: Node) -> None:
    inputs, layout = operands(mapper, node.inputs)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_NOT_EQUAL, inputs, layout)
