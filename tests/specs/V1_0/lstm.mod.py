# SPDX-License-Identifier: Apache-2.0
# One step of an LSTM cell with all four gates; with layer normalisation, which came with 1.2, too.

import numpy as np

BATCH, SIZE, UNITS = 2, 3, 4


def small(seed, *shape):
    return ((np.arange(np.prod(shape)) * 5 + seed * 3) % 11 - 5.0).reshape(shape) / 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normalized(sums):
    return (sums - sums.mean(1, keepdims=True)) / sums.std(1, keepdims=True)


data, state, cell = small(1, BATCH, SIZE) * 4, small(2, BATCH, UNITS), small(3, BATCH, UNITS)
# Of the input, the forget, the cell and the output gate.
weights = [small(4 + gate, UNITS, SIZE) for gate in range(4)]
recurrent = [small(8 + gate, UNITS, UNITS) for gate in range(4)]
biases = [small(12 + gate, UNITS) for gate in range(4)]
norms = [small(16 + gate, UNITS) + 1 for gate in range(4)]


def step(is_normalized):
    sums = [data @ w.T + state @ r.T for w, r in zip(weights, recurrent, strict=True)]
    if is_normalized:
        sums = [normalized(each) * norm for each, norm in zip(sums, norms, strict=True)]
    let_in, forget, update, let_out = (s + b for s, b in zip(sums, biases, strict=True))
    new = sigmoid(forget) * cell + sigmoid(let_in) * np.tanh(update)
    return sigmoid(let_out) * np.tanh(new), new


for name in ("plain", "normalized"):
    feeds = {}

    def given(values, feeds=feeds):
        operand = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
        feeds[operand] = values.ravel().tolist()
        return operand

    def left_out():
        return Parameter("none", ("TENSOR_FLOAT32", [0]), None)

    operands = [given(each) for each in [data, *weights, *recurrent]]
    operands += [left_out() for _ in range(3)]
    operands += [given(each) for each in biases]
    operands += [left_out(), left_out(), given(state), given(cell), 4, 0.0, 0.0]
    if name == "normalized":
        operands += [given(each) for each in norms]
    output, new_cell = step(name == "normalized")
    scratch = IgnoredOutput("scratch", ("TENSOR_FLOAT32", [BATCH, 4 * UNITS]))
    results = [Output("z", ("TENSOR_FLOAT32", [BATCH, UNITS])) for _ in range(3)]
    model = Model(name).IntroducedIn("V1_2" if name == "normalized" else "V1_0")
    model.Operation("LSTM", *operands).To(scratch, *results)
    for operand, values in zip(results, (output, new_cell, output), strict=True):
        feeds[operand] = values.ravel().tolist()
    Example(feeds).AddVariations("float16")
Example.SetVersion("V1_2", "lstm_plain_float16")
