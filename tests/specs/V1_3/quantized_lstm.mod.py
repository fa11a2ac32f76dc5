# SPDX-License-Identifier: Apache-2.0
# One step of a cell of four units: with all that may be left out, or without it. The results are
# those of the numpy reference.

import numpy as np

BATCH, SIZE, UNITS = 2, 3, 4
INPUT = ("TENSOR_QUANT8_ASYMM_SIGNED", 1 / 128, 0)
WEIGHT = ("TENSOR_QUANT8_SYMM", 1 / 128, 0)
FIXED = ("TENSOR_QUANT16_SYMM", 1 / 32768, 0)
CELL = ("TENSOR_QUANT16_SYMM", 1 / 2048, 0)
BIAS = ("TENSOR_INT32", 0.0, 0)
# Of the hidden state, and without a projection of the output.
HIDDEN = ("TENSOR_QUANT8_ASYMM_SIGNED", 1 / 128, 0)
PROJECTED = ("TENSOR_QUANT8_ASYMM_SIGNED", 1 / 64, 5)


def steps(seed, most, *shape):
    return ((np.arange(np.prod(shape)) * 37 + seed * 53) % (2 * most + 1) - most).reshape(shape)


RESULTS = {
    # the cell state, and the output, which is the output's state as well
    "plain": (
        [-176, -1049, -1493, -610, -1932, 151, -1908, -1156],
        [-5, -18, -40, -13, -26, 6, -32, -36],
    ),
    # Two are clipped at 0.75.
    "everything": ([-1536, -246, -990, -1248, -709, -1536, -359, -1320], [-12, 10, -1, 4]),
}
for name, (cell_values, values) in RESULTS.items():
    full = name == "everything"
    width = 2 if full else UNITS
    state = PROJECTED if full else HIDDEN
    feeds = {}

    def given(kind, values, there=True, feeds=feeds):
        """An input, or nothing."""
        shape = (kind[0], list(values.shape), *kind[1:])
        if not there:
            return Parameter("none", shape, None)
        x = Input("x", shape)
        feeds[x] = values.ravel().tolist()
        return x

    # The input gate may be what the forget gate leaves.
    there = [full, True, True, True]
    operands = [given(INPUT, steps(1, 127, BATCH, SIZE))]
    for columns in (SIZE, width):
        operands += [
            given(WEIGHT, steps(gate + columns, 127, UNITS, columns), there[gate])
            for gate in range(4)
        ]
    operands += [given(FIXED, steps(6 + gate, 20000, UNITS), full) for gate in range(3)]
    most = 2**22 if full else 4000
    operands += [given(BIAS, steps(9 + gate, most, UNITS), there[gate]) for gate in range(4)]
    operands.append(given(WEIGHT, steps(13, 127, width, UNITS), full))
    operands.append(given(BIAS, steps(14, 400, width), full))
    operands.append(given(state, steps(15, 100, BATCH, width)))
    operands.append(given(CELL, steps(16, 3000, BATCH, UNITS)))
    operands += [given(FIXED, steps(17 + gate, 20000, UNITS), full) for gate in range(4)]
    # The clips of the cell and of the projection; the scales of the gates' sums.
    operands += [0.75, 0.5] if full else [0.0, 0.0]
    operands += [1 / 128] * 4
    operands += [0, 1 / 128]
    kept = Output("kept", (state[0], [BATCH, width], *state[1:]))
    cell = Output("cell", (CELL[0], [BATCH, UNITS], *CELL[1:]))
    z = Output("z", (state[0], [BATCH, width], *state[1:]))
    Model(name).Operation("QUANTIZED_LSTM", *operands).To(kept, cell, z)
    Example({**feeds, kept: values, cell: cell_values, z: values})
