# SPDX-License-Identifier: Apache-2.0
# Sequences that give their last states away: of cells and of LSTMs, forwards and in both
# directions, whose outputs are merged or not.

import numpy as np

BATCH, TIME, SIZE, UNITS = 2, 3, 2, 3


def small(seed, *shape):
    return ((np.arange(np.prod(shape)) * 5 + seed * 3) % 11 - 5.0).reshape(shape) / 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Cell:
    """States are [output]."""

    def __init__(self, seed):
        self.operands = [small(seed, UNITS, SIZE), small(seed + 1, UNITS, UNITS)]
        self.operands.append(small(seed + 2, UNITS))
        self.states = [small(seed + 3, BATCH, UNITS)]

    def step(self, data, states):
        weights, recurrent, bias = self.operands
        return [np.clip(data @ weights.T + states[0] @ recurrent.T + bias, 0, 6)]


class Lstm:
    """States are [output, cell]. None: an operand that is left out."""

    def __init__(self, seed):
        self.weights = [small(seed + gate, UNITS, SIZE) for gate in range(4)]
        self.recurrent = [small(seed + 4 + gate, UNITS, UNITS) for gate in range(4)]
        self.biases = [small(seed + 8 + gate, UNITS) for gate in range(4)]
        self.operands = [*self.weights, *self.recurrent, None, None, None, *self.biases, None, None]
        self.states = [small(seed + 12, BATCH, UNITS), small(seed + 13, BATCH, UNITS)]

    def step(self, data, states):
        output, cell = states
        let_in, forget, update, let_out = (
            data @ w.T + output @ r.T + b
            for w, r, b in zip(self.weights, self.recurrent, self.biases, strict=True)
        )
        cell = sigmoid(let_in) * np.tanh(update) + sigmoid(forget) * cell
        return [sigmoid(let_out) * np.tanh(cell), cell]


def unrolled(cell, data):
    """[time, batch, units], and the last states."""
    states, outputs = cell.states, []
    for step in data:
        states = cell.step(step, states)
        outputs.append(states[0])
    return np.stack(outputs), states


def check(name, operation, given, scalars, results, last=0):
    """`last`: so many operands come behind the scalars, which are left out."""
    feeds, operands = {}, []
    for values in given:
        if values is None:
            operands.append(Parameter("none", ("TENSOR_FLOAT32", [0]), None))
            continue
        operands.append(Input("x", ("TENSOR_FLOAT32", list(values.shape))))
        feeds[operands[-1]] = values.ravel().tolist()
    behind = [Parameter("none", ("TENSOR_FLOAT32", [0]), None) for _ in range(last)]
    outputs = [Output("z", ("TENSOR_FLOAT32", list(each.shape))) for each in results]
    Model(name).Operation(operation, *operands, *scalars, *behind).To(*outputs)
    feeds.update({z: each.ravel().tolist() for z, each in zip(outputs, results, strict=True)})
    Example(feeds).AddVariations("float16")


data = small(7, TIME, BATCH, SIZE) * 2
RELU6, TANH, TIME_MAJOR = 3, 4, True
for name, kind, activation in (("rnn", Cell, [RELU6]), ("lstm", Lstm, [TANH, 0.0, 0.0])):
    forward, backward = kind(1), kind(5)
    output, states = unrolled(forward, data)
    title = f"UNIDIRECTIONAL_SEQUENCE_{name.upper()}"
    major = [TIME_MAJOR if kind is Lstm else int(TIME_MAJOR)]
    given = [data, *forward.operands, *forward.states]
    check(name, title, given, activation + major, [output, *states], 4 if kind is Lstm else 0)

    back, back_states = unrolled(backward, data[::-1])
    given = [data, *forward.operands, *backward.operands, *forward.states, *backward.states]
    given += [None] * 9
    if kind is Cell:
        # Each state stands behind its cell, and there is one auxiliary matrix for each.
        given = [data, *forward.operands, *forward.states, *backward.operands, *backward.states]
        given += [None] * 3
    title = f"BIDIRECTIONAL_SEQUENCE_{name.upper()}"
    for merge in (False, True):
        parts = [output, back[::-1]]
        results = [np.concatenate(parts, 2)] if merge else parts
        # The LSTM says first whether outputs are merged.
        flags = [merge, TIME_MAJOR] if kind is Lstm else [TIME_MAJOR, merge]
        check(
            f"both_{name}" + "_merged" * merge,
            title,
            given,
            activation + flags,
            [*results, *states, *back_states],
            8 if kind is Lstm else 0,
        )
