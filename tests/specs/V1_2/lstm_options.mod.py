# SPDX-License-Identifier: Apache-2.0
# A sequence through an LSTM with an input gate or without, peepholes, a projection with its bias
# and clips, layer normalisation, either order of time and batch.

import numpy as np

SIZE, UNITS, BATCH, TIME = 2, 3, 2, 2


def pattern(*shape):
    """Small, and different from each other."""
    pattern.at += 1
    steps = (np.arange(np.prod(shape)) * 7 + pattern.at * 3) % 13 - 6
    return (steps / 16.0).reshape(shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sequence(data, gates, projection, clips, states):
    """gates: of input, forget, cell, output: weights, recurrent weights, peephole, bias, norm."""
    output, cell = states
    outputs = []
    for step in data:
        sums = []
        for number, gate in enumerate(gates):
            if gate is None:
                sums.append(None)
                continue
            weights, recurrent, peephole, bias, norm = gate
            total = step @ weights.T + output @ recurrent.T
            if peephole is not None and number < 3:
                total = total + peephole * cell
            sums.append((total, peephole, bias, norm))

        def finish(entry, extra=0.0):
            total, _, bias, norm = entry
            total = total + extra
            if norm is None:
                return total + bias
            mean, deviation = total.mean(1, keepdims=True), total.std(1, keepdims=True)
            return (total - mean) / deviation * norm + bias

        forget = sigmoid(finish(sums[1]))
        let_in = 1 - forget if sums[0] is None else sigmoid(finish(sums[0]))
        cell = let_in * np.tanh(finish(sums[2])) + forget * cell
        if clips[0]:
            cell = np.clip(cell, -clips[0], clips[0])
        peephole = sums[3][1]
        out = sigmoid(finish(sums[3], 0.0 if peephole is None else peephole * cell))
        output = out * np.tanh(cell)
        if projection is not None:
            output = output @ projection[0].T
            if projection[1] is not None:
                output = output + projection[1]
            if clips[1]:
                output = np.clip(output, -clips[1], clips[1])
        outputs.append(output)
    return np.stack(outputs)


# input gate, peepholes, projection, its bias, layer normalisation, clips, time major
OPTIONS = {
    "plain": (True, False, False, False, False, (0.0, 0.0), True),
    "cifg": (False, True, False, False, False, (0.25, 0.0), False),
    "projected": (True, False, True, False, False, (0.0, 0.125), True),
    "projected_with_bias": (False, False, True, True, False, (0.0, 0.0), False),
    "normalized": (True, True, False, False, True, (0.0, 0.0), False),
    "everything": (True, True, True, True, True, (0.25, 0.5), True),
}
for name, options in OPTIONS.items():
    own_input, peepholes, projected, biased, normed, clips, time_major = options
    pattern.at = 0
    width = 2 if projected else UNITS
    gates = [
        (
            pattern(UNITS, SIZE),
            pattern(UNITS, width),
            pattern(UNITS) if peepholes and number != 2 else None,
            pattern(UNITS),
            pattern(UNITS) + 1 if normed else None,
        )
        if own_input or number
        else None
        for number in range(4)
    ]
    projection = (pattern(width, UNITS), pattern(width) if biased else None) if projected else None
    states = pattern(BATCH, width), pattern(BATCH, UNITS)
    data = pattern(TIME, BATCH, SIZE) * 2
    expected = sequence(data, gates, projection, clips, states)
    if not time_major:
        data, expected = data.swapaxes(0, 1), expected.swapaxes(0, 1)

    def operand(values, missing):
        """An input; or nothing, of a shape that does not matter."""
        if values is None:
            return Parameter("none", ("TENSOR_FLOAT32", missing), None), None
        made = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
        return made, values.ravel().tolist()

    each = [gate or (None,) * 5 for gate in gates]
    order = [data]
    order += [gate[0] for gate in each] + [gate[1] for gate in each]
    order += [each[0][2], each[1][2], each[3][2]] + [gate[3] for gate in each]
    order += list(projection or (None, None)) + list(states)
    made = [operand(values, [0]) for values in order]
    norms = [operand(gate[4], [0]) for gate in each]
    z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
    Model(name).Operation(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        *[entry[0] for entry in made],
        4,
        Float32Scalar("cell_clip", clips[0]),
        Float32Scalar("projection_clip", clips[1]),
        time_major,
        *[entry[0] for entry in norms],
    ).To(z)
    feeds = {entry[0]: entry[1] for entry in made + norms if entry[1] is not None}
    Example({**feeds, z: expected.ravel().tolist()}).AddVariations("float16")
