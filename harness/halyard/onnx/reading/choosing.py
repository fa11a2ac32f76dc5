# SPDX-License-Identifier: Apache-2.0
"""Where and OneHot: choices by truth values, which SELECT makes among three of one shape."""

from __future__ import annotations

import math

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType, dtype_of
from halyard.onnx.reading.mapper import FLOATS, MAX_RANK, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.spreading import filled, spread
from halyard.proto import halyard_pb2 as pb

_BOOL8 = pb.OPERAND_TYPE_TENSOR_BOOL8
_INT32 = pb.OPERAND_TYPE_TENSOR_INT32


def where(mapper: Mapper, node: Node) -> None:
    """Truth values are chosen by AND and OR, which SELECT does not take."""
    output = node.outputs[0]
    tensor = mapper.tensor_type(output)
    if tensor.type not in (*FLOATS, _INT32, _BOOL8):
        raise NotExpressible("its choices are bytes, of which SELECT wants a scale")
    condition, a, b = (_spread(mapper, name, output) for name in node.inputs)
    if tensor.type == _BOOL8:
        first = mapper.step(pb.OPERATION_TYPE_LOGICAL_AND, [condition, a])
        otherwise = mapper.step(pb.OPERATION_TYPE_LOGICAL_NOT, [condition])
        second = mapper.step(pb.OPERATION_TYPE_LOGICAL_AND, [otherwise, b])
        mapper.define(output, pb.OPERATION_TYPE_LOGICAL_OR, [first, second])
    else:
        mapper.define(output, pb.OPERATION_TYPE_SELECT, [condition, a, b])


def _spread(mapper: Mapper, name: str, output: str) -> int:
    rank = len(mapper.shape(output))
    if rank > MAX_RANK:
        index = mapper.aligned(name, mapper.kept(output), rank)
    else:
        index = mapper.operand(name)
    return spread(mapper, index, mapper.dims(output))


def one_hot(mapper: Mapper, node: Node) -> None:
    """By comparing each index with all places. Of a negative one they are counted from the end."""
    indices, output = node.input(0), node.outputs[0]
    depth = int(mapper.known(node.input(1), "depth").reshape(-1)[0])
    off, on = mapper.known(node.input(2), "values").reshape(-1).tolist()
    tensor = mapper.tensor_type(output)
    if tensor.type not in (*FLOATS, _INT32):
        raise NotExpressible("its values are neither of floats nor of INT32")
    shape = mapper.shape(indices)
    axis = node.integer("axis", -1) % (len(shape) + 1)
    # The dimensions before and behind the new one as one each.
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
    whole = TensorType(tensor.type, (outer, depth, inner))
    source = mapper.reshaped(mapper.operand(indices), (outer, 1, inner), f"{output}/indices")
    kind = mapper.like(source).type
    if kind not in (*FLOATS, _INT32):
        raise NotExpressible("its indices are neither of floats nor of INT32")

    def hits(first: int) -> int:
        values = np.arange(first, first + depth).reshape(1, depth, 1)
        numbers = mapper.builder.constant(
            "", TensorType(kind, values.shape), values.astype(dtype_of(kind))
        )
        return mapper.step(pb.OPERATION_TYPE_EQUAL, [source, numbers], whole.dimensions, _BOOL8)

    hit = mapper.step(pb.OPERATION_TYPE_LOGICAL_OR, [hits(0), hits(-depth)])
    choices = [filled(mapper, whole, value) for value in (on, off)]
    chosen = mapper.emit(pb.OPERATION_TYPE_SELECT, [hit, *choices], f"{output}/chosen", whole)
    mapper.define_as(output, chosen)
