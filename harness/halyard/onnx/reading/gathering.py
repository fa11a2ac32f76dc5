# SPDX-License-Identifier: Apache-2.0
"""GatherND, as a GATHER from what its indices lead into, taken as one dimension."""

from __future__ import annotations

import math

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb

_INT32 = pb.OPERAND_TYPE_TENSOR_INT32


def gather_nd(mapper: Mapper, node: Node) -> None:
    """Negative indices count from the end; those that are computed are looked at while it runs."""
    data, indices = node.inputs
    output = node.outputs[0]
    if node.integer("batch_dims", 0):
        raise NotExpressible("it takes other elements in each batch, and GATHER takes the same")
    shape, places = mapper.shape(data), mapper.shape(indices)
    inner, rest = shape[: places[-1]], shape[places[-1] :]
    depth, count = len(inner), math.prod(places[:-1])
    strides = [math.prod(inner[place + 1 :]) for place in range(depth)]
    known = mapper.constant(indices)
    if known is not None:
        limits = np.array(inner)
        if (known < -limits).any() or (known >= limits).any():
            raise NotExpressible(f"its indices go beyond {list(inner)}")
        flat = ((known % limits) * strides).sum(-1).reshape(-1)
        numbers = mapper.builder.vector("", flat.tolist())
    else:
        numbers = _flat(mapper, indices, count, inner, strides)
    columns = math.prod(rest)
    table = mapper.reshaped(mapper.operand(data), (math.prod(inner), columns), f"{output}/table")
    inputs = [table, mapper.builder.int32(0), numbers]
    mapper.define_as(output, mapper.step(pb.OPERATION_TYPE_GATHER, inputs, (count, columns)))


def _flat(mapper: Mapper, name: str, count: int, inner: tuple[int, ...], strides: list[int]) -> int:
    """One number for each place."""
    builder, none = mapper.builder, mapper.builder.int32(0)
    rows = mapper.reshaped(mapper.operand(name), (count, len(inner)), f"{name}/rows")

    def vector(values: object) -> int:
        array = np.asarray(values, np.int32).reshape(1, -1)
        return builder.constant("", TensorType(_INT32, array.shape), array)

    kind = pb.OPERAND_TYPE_TENSOR_BOOL8
    ends = mapper.step(pb.OPERATION_TYPE_ADD, [rows, vector(inner), none])
    zero = builder.constant("", TensorType(_INT32, (1, 1)), np.zeros((1, 1), np.int32))
    below = mapper.step(pb.OPERATION_TYPE_LESS, [rows, zero], kind=kind)
    rows = mapper.step(pb.OPERATION_TYPE_SELECT, [below, ends, rows], kind=_INT32)
    scaled = mapper.step(pb.OPERATION_TYPE_MUL, [rows, vector(strides), none])
    size, total = builder.vector("", (count, 1)), None
    for place in range(len(inner)):
        begin = builder.vector("", (0, place))
        column = mapper.step(pb.OPERATION_TYPE_SLICE, [scaled, begin, size], (count, 1))
        total = (
            column if total is None else mapper.step(pb.OPERATION_TYPE_ADD, [total, column, none])
        )
    assert total is not None
    return mapper.reshaped(total, (count,), f"{name}/flat")
