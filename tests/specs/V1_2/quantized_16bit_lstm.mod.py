# SPDX-License-Identifier: Apache-2.0
# One step of a cell of two units, from states at both ends of their range. The results are those of
# the numpy reference.

import numpy as np

BATCH, SIZE, UNITS = 2, 3, 2


def steps(seed, *shape):
    """Bytes about their zero point."""
    return ((np.arange(np.prod(shape)) * 37 + seed * 53) % 201 + 28).reshape(shape)


VALUE, WEIGHT = ("TENSOR_QUANT8_ASYMM", 1 / 128, 128), ("TENSOR_QUANT8_ASYMM", 1 / 64, 120)
CELL = ("TENSOR_QUANT16_SYMM", 1 / 2048, 0)


def of(kind, *shape):
    return (kind[0], list(shape), *kind[1:])


feeds = {}


def given(kind, values):
    x = Input("x", of(kind, *values.shape))
    feeds[x] = values.ravel().tolist()
    return x


operands = [given(VALUE, steps(1, BATCH, SIZE))]
operands += [given(WEIGHT, steps(2 + gate, UNITS, SIZE)) for gate in range(4)]
operands += [given(WEIGHT, steps(6 + gate, UNITS, UNITS)) for gate in range(4)]
bias_scale = ("TENSOR_INT32", 1 / 8192, 0)
operands += [
    given(bias_scale, (steps(10 + gate, UNITS) - 128) * (gate + 1) * 40) for gate in range(4)
]
operands.append(given(CELL, np.array([[32767, -3000], [700, -32768]])))
operands.append(given(VALUE, steps(14, BATCH, UNITS)))
cell, z = Output("cell", of(CELL, BATCH, UNITS)), Output("z", of(VALUE, BATCH, UNITS))
Model().Operation("QUANTIZED_16BIT_LSTM", *operands).To(cell, z)
Example({**feeds, cell: [20024, -961, 542, -8729], z: [198, 107, 138, 56]})
