# SPDX-License-Identifier: Apache-2.0
# Without auxiliary weights the backward sequence reads the auxiliary input, of a size of its own,
# instead of the input; the forward sequence reads the input alone. Whether there are weights the
# model says, or the request, which leaves out what the model declares in one shape or another.

import numpy as np

BATCH, TIME, SIZE, AUX_SIZE, UNITS = 2, 3, 2, 5, 3
state = np.random.RandomState(3)


def small(*shape):
    return state.randint(-8, 9, shape) / 16.0


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(data, weights, recurrent, biases, output, cell):
    """Input, forget, cell and output gate."""
    outputs = []
    for step in data:
        let_in, forget, update, let_out = (
            step @ w.T + output @ r.T + b
            for w, r, b in zip(weights, recurrent, biases, strict=True)
        )
        cell = sigmoid(let_in) * np.tanh(update) + sigmoid(forget) * cell
        output = sigmoid(let_out) * np.tanh(cell)
        outputs.append(output)
    return np.stack(outputs)


def rnn(data, weights, recurrent, bias, output):
    outputs = []
    for step in data:
        output = np.clip(step @ weights.T + output @ recurrent.T + bias, -1, 1)
        outputs.append(output)
    return np.stack(outputs)


class Feeds(dict):
    def given(self, values):
        operand = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
        self[operand] = values.ravel().tolist()
        return operand

    def left_out(self, shape):
        """By the model if there is no shape."""
        if shape is None:
            return Parameter("none", ("TENSOR_FLOAT32", [0]), None)
        operand = Input("none", ("TENSOR_FLOAT32", shape))
        self[operand] = []
        return operand


data, aux = small(TIME, BATCH, SIZE) * 4, small(TIME, BATCH, AUX_SIZE) * 4
sizes = (SIZE, AUX_SIZE)
initial = [(small(BATCH, UNITS), small(BATCH, UNITS)) for _ in sizes]
gates = [
    (
        [small(UNITS, size) for _ in range(4)],
        [small(UNITS, UNITS) for _ in range(4)],
        [small(UNITS) for _ in range(4)],
    )
    for size in sizes
]
cells = [(small(UNITS, size), small(UNITS, UNITS), small(UNITS)) for size in sizes]
SHAPES = {"by_model": None, "by_request": [UNITS, SIZE], "by_request_undeclared": [0]}
for (name, shape), merge in ((item, merge) for item in SHAPES.items() for merge in (0, 1)):

    def outputs(results, merge=merge):
        results = [results[0], results[1][::-1]]
        results = [np.concatenate(results, 2)] if merge else results
        return {Output("z", ("TENSOR_FLOAT32", list(z.shape))): z.ravel().tolist() for z in results}

    feeds = Feeds()
    operands = [feeds.given(data)]
    for weights, recurrent, biases in gates:
        operands += [feeds.given(each) for each in weights + recurrent]
        operands += [feeds.left_out(shape and [UNITS]) for _ in range(3)]
        operands += [feeds.given(each) for each in biases]
        operands += [feeds.left_out(shape and [UNITS, UNITS]), feeds.left_out(shape and [UNITS])]
    operands += [feeds.given(each) for states in initial for each in states]
    operands += [feeds.given(aux), *(feeds.left_out(shape) for _ in range(8))]
    clips = [Float32Scalar("clip", 0.0), Float32Scalar("clip", 0.0)]
    found = outputs(
        [lstm(source, *gates[i], *initial[i]) for i, source in enumerate((data, aux[::-1]))]
    )
    Model(f"lstm_{name}" + "_merged" * merge).Operation(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        *operands,
        4,
        *clips,
        bool(merge),
        True,
        *(feeds.left_out(shape and [UNITS]) for _ in range(8)),
    ).To(*found)
    Example({**feeds, **found}).AddVariations("float16")

    feeds = Feeds()
    operands = [feeds.given(data)]
    for cell, states in zip(cells, initial, strict=True):
        operands += [feeds.given(each) for each in (*cell, states[0])]
    operands += [feeds.given(aux), *(feeds.left_out(shape) for _ in range(2))]
    found = outputs(
        [rnn(source, *cells[i], initial[i][0]) for i, source in enumerate((data, aux[::-1]))]
    )
    Model(f"rnn_{name}" + "_merged" * merge).Operation(
        "BIDIRECTIONAL_SEQUENCE_RNN", *operands, 2, True, bool(merge)
    ).To(*found)
    Example({**feeds, **found}).AddVariations("float16")
