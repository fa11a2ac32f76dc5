# SPDX-License-Identifier: Apache-2.0
"""The two LSTMs of quantised inner values, with each optional operand there or not."""

from __future__ import annotations

from halyard.model import TensorType
from tests.random_models.sketch import (
    I32,
    S8,
    SYMM8,
    SYMM16,
    U8,
    RandomCase,
    Sketch,
    generator,
)


@generator("QUANTIZED_16BIT_LSTM")
def quantized_16bit_lstm(sketch: Sketch) -> RandomCase:
    batch, size, units = (sketch.integer(1, 5) for _ in range(3))
    scale, zero = 2.0 ** sketch.integer(-9, -6), sketch.integer(80, 160)

    def weights(*shape: int) -> int:
        return sketch.tensor(TensorType(U8, shape, scale, zero))

    def bias() -> int:
        values = sketch.source.integers(-20000, 20000, (units,), endpoint=True)
        return sketch.tensor(TensorType(I32, (units,), scale / 128), values)

    inputs = [sketch.tensor(TensorType(U8, (batch, size), 1 / 128, 128))]
    inputs += [weights(units, size) for _ in range(4)]
    inputs += [weights(units, units) for _ in range(4)]
    inputs += [bias() for _ in range(4)]
    cell, output = TensorType(SYMM16, (batch, units), 2.0**-11), (batch, units)
    state = sketch.source.integers(-4000, 4000, output, endpoint=True)
    inputs.append(sketch.tensor(cell, state))
    inputs.append(sketch.tensor(TensorType(U8, output, 1 / 128, 128)))
    return sketch.finish(inputs, cell, TensorType(U8, (), 1 / 128, 128))


@generator("QUANTIZED_LSTM")
def quantized_lstm(sketch: Sketch) -> RandomCase:
    own_input, peepholes, projected, normed = (sketch.chance() for _ in range(4))
    batch, size = sketch.integer(1, 4), sketch.integer(1, 5)
    # The contract's arithmetic divides 2 ** 20 by the units of a normalised gate.
    units = sketch.pick((2, 4, 8)) if normed else sketch.integer(1, 5)
    width = sketch.integer(1, 4) if projected else units
    cell_scale = 2.0 ** sketch.integer(-15, -11)
    hidden_scale = 2.0**-7
    # A power of two, so that a driver may multiply scales in float32.
    zero = sketch.integer(-128, 127)
    state_type = TensorType(S8, (batch, width), 2.0 ** sketch.integer(-8, -3), zero)
    if not projected:
        # The output is the hidden state.
        state_type = TensorType(S8, (batch, width), hidden_scale)

    def optional(present: bool, tensor: TensorType, low: int, high: int) -> int:
        if not present:
            return sketch.omitted(tensor.type)
        values = sketch.source.integers(low, high, tensor.dimensions, endpoint=True)
        return sketch.tensor(tensor, values, constant=True)

    def weights(present: bool, *shape: int) -> int:
        return optional(present, TensorType(SYMM8, shape, 2.0**-7), -127, 127)

    def fixed(present: bool) -> int:
        return optional(present, TensorType(SYMM16, (units,), 2.0**-15), -30000, 30000)

    def bias(present: bool, length: int) -> int:
        high = 10**7 if normed else 4000
        return optional(present, TensorType(I32, (length,)), -high, high)

    gates = (own_input, True, True, True)
    inputs = [sketch.tensor(TensorType(S8, (batch, size), 2.0**-7, 0))]
    inputs += [weights(present, units, size) for present in gates]
    inputs += [weights(present, units, width) for present in gates]
    inputs += [fixed(peepholes and own_input), fixed(peepholes), fixed(peepholes)]
    inputs += [bias(present, units) for present in gates]
    inputs.append(weights(projected, width, units))
    inputs.append(optional(projected and sketch.chance(), TensorType(I32, (width,)), -500, 500))
    inputs.append(sketch.tensor(state_type))
    cell = TensorType(SYMM16, (batch, units), cell_scale)
    inputs.append(sketch.tensor(cell))
    inputs += [fixed(normed and present) for present in gates]
    inputs += [sketch.number(0, clip) for clip in (sketch.pick((0.0, 0.25)), 0.0)]
    inputs += [sketch.number(0, 2.0**-7) for _ in range(4)]
    inputs += [sketch.integer_scalar(0), sketch.number(0, hidden_scale)]
    # A tie in the sum of a gate, of 12 fractional bits, is 8 steps of a cell state of 15.
    return sketch.finish(inputs, state_type, cell, state_type, most_steps=8)
