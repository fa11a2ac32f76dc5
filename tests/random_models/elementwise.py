# SPDX-License-Identifier: Apache-2.0
"""Operations on elements: ranks, broadcasting, special values, saturation."""

from __future__ import annotations

import numpy as np

from halyard.model import TensorType
from tests.random_models.sketch import (
    B8,
    BYTES,
    F16,
    FLOATS,
    I32,
    S8,
    U8,
    RandomCase,
    Sketch,
    broadcast,
    generator,
    like,
)

# Beside the floats.
_MORE_TYPES = {"ABS": (I32,), "NEG": (I32,), "RSQRT": BYTES}


@generator("ABS", "EXP", "FLOOR", "LOG", "NEG", "RSQRT", "SIN", "SQRT")
def unary(sketch: Sketch) -> RandomCase:
    types = (*FLOATS, *_MORE_TYPES.get(sketch.operation, ()))
    tensor = sketch.type_of(sketch.pick(types), sketch.shape(1, 4))
    values = sketch.stored(tensor, special=True)
    inputs = [sketch.tensor(tensor, values, constant=False)]
    return sketch.finish(inputs, like(tensor), fit=[0] if tensor.type in BYTES else [])


@generator("LOGICAL_NOT")
def logical_not(sketch: Sketch) -> RandomCase:
    tensor = TensorType(B8, sketch.shape(1, 5))
    return sketch.finish([sketch.tensor(tensor)], like(tensor))


@generator("ADD", "SUB", "MUL", "DIV")
def arithmetic(sketch: Sketch) -> RandomCase:
    types = (*FLOATS, I32) if sketch.operation == "DIV" else (*FLOATS, I32, *BYTES, *BYTES)
    operand_type = sketch.pick(types)
    left, right = (sketch.type_of(operand_type, shape) for shape in broadcast(sketch))
    activation = 0 if operand_type == I32 else sketch.integer(0, 3)
    # An activation's result of NaN is not defined.
    special = activation == 0
    values = [sketch.stored(tensor, special=special) for tensor in (left, right)]
    if operand_type == I32 and sketch.operation == "DIV":
        values[1][values[1] == 0] = -7
    inputs = [
        sketch.tensor(left, values[0]),
        sketch.tensor(right, values[1]),
        sketch.integer_scalar(activation),
    ]
    # "output_scale > input1_scale * input2_scale" for MUL.
    least = left.scale * right.scale if sketch.operation == "MUL" else 0.0
    fit = [0] if operand_type in BYTES else []
    output = like(left) if operand_type in BYTES else TensorType(operand_type, ())
    return sketch.finish(inputs, output, fit=fit, least_scale=least)


@generator("MAXIMUM", "MINIMUM")
def extremum(sketch: Sketch) -> RandomCase:
    operand_type = sketch.pick((*FLOATS, I32, *BYTES))
    left, right = (sketch.type_of(operand_type, shape) for shape in broadcast(sketch))
    inputs = [sketch.tensor(left), sketch.tensor(right)]
    return sketch.finish(inputs, like(left), fit=[0] if operand_type in BYTES else [])


@generator("POW")
def power(sketch: Sketch) -> RandomCase:
    operand_type = sketch.pick(FLOATS)
    left, right = (sketch.type_of(operand_type, shape) for shape in broadcast(sketch))
    base = sketch.stored(left, special=True)
    if sketch.chance():
        base = np.abs(base)
    exponent = sketch.grid(right.dimensions, 3, 0.5).astype(base.dtype)
    return sketch.finish([sketch.tensor(left, base), sketch.tensor(right, exponent)], like(left))


@generator("PRELU")
def prelu(sketch: Sketch) -> RandomCase:
    operand_type = sketch.pick((*FLOATS, *BYTES))
    data, alpha = (sketch.type_of(operand_type, shape) for shape in broadcast(sketch))
    inputs = [sketch.tensor(data), sketch.tensor(alpha)]
    least = data.scale * alpha.scale
    return sketch.finish(
        inputs, like(data), fit=[0] if operand_type in BYTES else [], least_scale=least
    )


@generator("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
def comparison(sketch: Sketch) -> RandomCase:
    operand_type = sketch.pick((*FLOATS, I32, B8, *BYTES))
    left, right = (sketch.type_of(operand_type, shape) for shape in broadcast(sketch, 5))
    if sketch.chance():
        right = sketch.type_of(operand_type, right.dimensions, like=left)
    values = [sketch.stored(tensor, special=True) for tensor in (left, right)]
    if operand_type == I32:
        values = [value % 5 for value in values]
    inputs = [sketch.tensor(left, values[0]), sketch.tensor(right, values[1])]
    return sketch.finish(inputs, TensorType(B8, ()))


@generator("LOGICAL_AND", "LOGICAL_OR")
def logical(sketch: Sketch) -> RandomCase:
    left, right = (TensorType(B8, shape) for shape in broadcast(sketch, 5))
    return sketch.finish([sketch.tensor(left), sketch.tensor(right)], TensorType(B8, ()))


@generator("SELECT")
def select(sketch: Sketch) -> RandomCase:
    shape, operand_type = sketch.shape(1, 5), sketch.pick((*FLOATS, I32, *BYTES))
    left, right = (sketch.type_of(operand_type, shape) for _ in range(2))
    inputs = [
        sketch.tensor(TensorType(B8, shape)),
        sketch.tensor(left, sketch.stored(left, special=True)),
        sketch.tensor(right),
    ]
    return sketch.finish(inputs, like(left), fit=[0] if operand_type in BYTES else [])


@generator("RELU", "RELU1", "RELU6")
def relu(sketch: Sketch) -> RandomCase:
    tensor = sketch.type_of(sketch.pick((*FLOATS, *BYTES)), sketch.shape(1, 4))
    return sketch.finish([sketch.tensor(tensor)], like(tensor))


@generator("LOGISTIC", "TANH")
def squashing(sketch: Sketch) -> RandomCase:
    """Their quantised outputs have the quantisation that the contract fixes."""
    tensor = sketch.type_of(sketch.pick((*FLOATS, *BYTES)), sketch.shape(1, 4))
    output = like(tensor)
    if tensor.type in BYTES:
        scale, zero = (1 / 256, 0) if sketch.operation == "LOGISTIC" else (1 / 128, 128)
        zero -= 128 if tensor.type == S8 else 0
        output = TensorType(tensor.type, (), scale, zero)
    values = sketch.stored(tensor)
    if tensor.type in FLOATS and sketch.chance(0.3):
        values = values * 10
        values.flat[0] = sketch.pick((np.inf, -np.inf, 100, -100))
    return sketch.finish([sketch.tensor(tensor, values)], output)


@generator("ELU")
def elu(sketch: Sketch) -> RandomCase:
    tensor = sketch.type_of(sketch.pick(FLOATS), sketch.shape(1, 4))
    alpha = sketch.number(tensor.type, sketch.pick((0.0, 0.5, 1.0, 2.25)))
    return sketch.finish([sketch.tensor(tensor), alpha], like(tensor))


@generator("HARD_SWISH")
def hard_swish(sketch: Sketch) -> RandomCase:
    tensor = sketch.type_of(sketch.pick((*FLOATS, *BYTES)), sketch.shape(1, 4))
    return sketch.finish(
        [sketch.tensor(tensor)], like(tensor), fit=[0] if tensor.type in BYTES else []
    )


@generator("SOFTMAX", "LOG_SOFTMAX")
def softmax(sketch: Sketch) -> RandomCase:
    logarithm = sketch.operation == "LOG_SOFTMAX"
    operand_type = sketch.pick(FLOATS if logarithm else (*FLOATS, U8, S8))
    # Without an axis the rank is 2 or 4.
    with_axis = logarithm or sketch.chance(0.7)
    rank = sketch.integer(1, 4) if with_axis else sketch.pick((2, 4))
    tensor = sketch.type_of(operand_type, sketch.shape(rank, rank))
    beta = sketch.number(F16 if operand_type == F16 else 0, sketch.pick((0.25, 1.0, 1.5, 10.0)))
    inputs = [sketch.tensor(tensor), beta]
    if with_axis:
        inputs.append(sketch.integer_scalar(sketch.axis(rank)))
    output = like(tensor)
    if operand_type in BYTES:
        output = TensorType(operand_type, (), 1 / 256, -128 if operand_type == S8 else 0)
    return sketch.finish(inputs, output)
