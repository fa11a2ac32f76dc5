# SPDX-License-Identifier: Apache-2.0
"""Functions of one input that NNAPI has no operation for, as several that give the same."""

from __future__ import annotations

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.elementwise import operands
from halyard.onnx.reading.mapper import FLOATS, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.spreading import filled
from halyard.proto import halyard_pb2 as pb

_INT32 = pb.OPERAND_TYPE_TENSOR_INT32
_BOOL8 = pb.OPERAND_TYPE_TENSOR_BOOL8


def ceil(mapper: Mapper, node: Node) -> None:
    """-floor(-x)."""
    [source], layout = operands(mapper, [node.input(0)])
    negative = mapper.step(pb.OPERATION_TYPE_NEG, [source])
    floor = mapper.step(pb.OPERATION_TYPE_FLOOR, [negative])
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_NEG, [floor], layout)


def rounded(mapper: Mapper, node: Node) -> None:
    """To the nearest whole number, and halves to the even one. What is beyond floor(x) is exact, so
    that nothing is rounded twice; of what is infinite it is no number, and compares as neither."""
    [source], layout = operands(mapper, [node.input(0)])
    arithmetic = Arithmetic(mapper)
    none = mapper.builder.int32(0)

    def compared(operation: int, a: int, b: float) -> int:
        return mapper.step(operation, [a, mapper.number(b, a)], kind=_BOOL8)

    floor = mapper.step(pb.OPERATION_TYPE_FLOOR, [source])
    beyond = mapper.step(pb.OPERATION_TYPE_SUB, [source, floor, none])
    pairs = mapper.step(pb.OPERATION_TYPE_FLOOR, [arithmetic.mul(floor, 0.5)])
    rest = mapper.step(pb.OPERATION_TYPE_SUB, [floor, arithmetic.mul(pairs, 2.0), none])
    half = compared(pb.OPERATION_TYPE_EQUAL, beyond, 0.5)
    odd = compared(pb.OPERATION_TYPE_GREATER, rest, 0.5)
    to_even = mapper.step(pb.OPERATION_TYPE_LOGICAL_AND, [half, odd])
    above = compared(pb.OPERATION_TYPE_GREATER, beyond, 0.5)
    up = mapper.step(pb.OPERATION_TYPE_LOGICAL_OR, [above, to_even])
    choices = [up, arithmetic.add(floor, 1.0), floor]
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_SELECT, choices, layout)


def sign(mapper: Mapper, node: Node) -> None:
    """By comparisons: a product would lose the smallest numbers."""
    [source], layout = operands(mapper, [node.input(0)])
    tensor = mapper.like(source)
    if tensor.type not in (*FLOATS, _INT32):
        raise NotExpressible("its input is neither of floats nor of INT32")
    one, zero, minus_one = (filled(mapper, tensor, value) for value in (1, 0, -1))
    below = mapper.step(pb.OPERATION_TYPE_LESS, [source, zero], kind=_BOOL8)
    above = mapper.step(pb.OPERATION_TYPE_GREATER, [source, zero], kind=_BOOL8)
    rest = mapper.emit(pb.OPERATION_TYPE_SELECT, [below, minus_one, zero], "not_above", tensor)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_SELECT, [above, one, rest], layout)


def cosine(mapper: Mapper, node: Node) -> None:
    """1 - 2 sin²(x / 2). The half is exact: a quarter of a turn more would be rounded, by the more
    the larger x is."""
    mapper.require_real(node.input(0))
    [source], layout = operands(mapper, [node.input(0)])
    arithmetic = Arithmetic(mapper)
    sine = arithmetic.unary(pb.OPERATION_TYPE_SIN, arithmetic.mul(source, 0.5))
    twice = arithmetic.mul(arithmetic.mul(sine, sine), -2.0)
    inputs = [twice, mapper.number(1.0, twice), mapper.builder.int32(0)]
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_ADD, inputs, layout)


def triangle(mapper: Mapper, node: Node) -> None:
    """Trilu. It chooses by a constant: a product with zeros would make NaN of infinite numbers."""
    data = node.input(0)
    diagonal = 0
    if node.input(1):
        diagonal = int(mapper.known(node.input(1), "diagonal").reshape(-1)[0])
    for axis in (-2, -1):
        mapper.axis(data, axis)
    tensor = mapper.tensor_type(data)
    keep = (np.triu if node.integer("upper", 1) else np.tril)(
        np.ones(tensor.dimensions, np.uint8), diagonal
    )
    if keep.all():
        mapper.alias(node.outputs[0], data)
        return
    mask = mapper.builder.constant("", TensorType(_BOOL8, tensor.dimensions), keep)
    source = mapper.operand(data)
    if tensor.type == _BOOL8:
        mapper.define(node.outputs[0], pb.OPERATION_TYPE_LOGICAL_AND, [source, mask])
        return
    if tensor.type not in (*FLOATS, _INT32):
        raise NotExpressible("its input is neither of floats nor of INT32")
    inputs = [mask, source, filled(mapper, tensor, 0)]
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_SELECT, inputs)
