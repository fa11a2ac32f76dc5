# SPDX-License-Identifier: Apache-2.0
"""CumSum, by sums with what lies 1, 2, 4 and so on elements before: as many steps as the extent has
bits. A product with a triangle of ones would make NaN of what follows infinite numbers."""

from __future__ import annotations

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.onnx.reading.mapper import FLOATS, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.spreading import filled
from halyard.proto import halyard_pb2 as pb

_INT32 = pb.OPERAND_TYPE_TENSOR_INT32


def cumulative_sum(mapper: Mapper, node: Node) -> None:
    data, output = node.input(0), node.outputs[0]
    axis = mapper.axis(data, int(mapper.known(node.input(1), "axis").reshape(-1)[0]))
    kind = mapper.tensor_type(data).type
    if kind not in (*FLOATS, _INT32):
        raise NotExpressible("its input is neither of floats nor of INT32")
    sums, extent = mapper.operand(data), mapper.dims(data)[axis]
    backwards = bool(node.integer("reverse", 0))
    if node.integer("exclusive", 0):
        sums = _shifted(mapper, sums, axis, 1, backwards=backwards)
    none, distance = mapper.builder.int32(0), 1
    while distance < extent:
        before = _shifted(mapper, sums, axis, distance, backwards=backwards)
        sums = mapper.step(pb.OPERATION_TYPE_ADD, [sums, before, none])
        distance *= 2
    mapper.define_as(output, sums)


def _shifted(mapper: Mapper, source: int, axis: int, distance: int, *, backwards: bool) -> int:
    """With zeros where nothing comes from."""
    operand = mapper.builder.operand(source)
    dims, extent = list(operand.dimensions), operand.dimensions[axis]
    distance = min(distance, extent)
    if operand.type == _INT32:
        return _shifted_whole(mapper, source, axis, distance if backwards else -distance)
    if distance == extent:
        return filled(mapper, mapper.like(source), 0)
    dims[axis] = extent - distance
    begins = [0] * len(dims)
    begins[axis] = distance if backwards else 0
    vector = mapper.builder.vector
    rest = mapper.step(
        pb.OPERATION_TYPE_SLICE, [source, vector("", begins), vector("", dims)], dims
    )
    pairs = np.zeros((len(dims), 2), np.int32)
    pairs[axis] = (0, distance) if backwards else (distance, 0)
    table = mapper.builder.constant("", TensorType(_INT32, pairs.shape), pairs)
    return mapper.step(pb.OPERATION_TYPE_PAD, [rest, table], operand.dimensions)


def _shifted_whole(mapper: Mapper, source: int, axis: int, distance: int) -> int:
    """PAD takes no whole numbers: places are gathered, and those that are outside made zero."""
    dims = mapper.builder.operand(source).dimensions
    places = np.arange(dims[axis]) + distance
    inside = (places >= 0) & (places < dims[axis])
    shape = tuple(extent if each == axis else 1 for each, extent in enumerate(dims))
    numbers = mapper.builder.vector("", np.clip(places, 0, dims[axis] - 1).tolist())
    mask = mapper.builder.constant(
        "", TensorType(_INT32, shape), inside.astype(np.int32).reshape(shape)
    )
    found = mapper.step(
        pb.OPERATION_TYPE_GATHER, [source, mapper.builder.int32(axis), numbers], dims
    )
    return mapper.step(pb.OPERATION_TYPE_MUL, [found, mask, mapper.builder.int32(0)])
