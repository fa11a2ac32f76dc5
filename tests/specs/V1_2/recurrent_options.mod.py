# SPDX-License-Identifier: Apache-2.0
# Recurrent cells with each activation, either order of time and batch, outputs that are merged, and
# an auxiliary input with weights and without.

import numpy as np

BATCH, TIME, SIZE, UNITS = 2, 3, 2, 3


def pattern(seed, *shape):
    steps = (np.arange(np.prod(shape)) * 7 + seed * 3) % 13 - 6
    return (steps / 8.0).reshape(shape)


BOUNDS = {0: (-1e9, 1e9), 1: (0, 1e9), 2: (-1, 1), 3: (0, 6)}


def unrolled(data, aux, cell, aux_weights, code):
    weights, recurrent, bias, state = cell
    outputs = []
    for at, step in enumerate(data):
        total = step @ weights.T + state @ recurrent.T + bias
        if aux is not None:
            total = total + aux[at] @ aux_weights.T
        state = np.clip(total, *BOUNDS[code])
        outputs.append(state)
    return np.stack(outputs)


def floats(name, values):
    """An input and what it is fed."""
    return Input(name, ("TENSOR_FLOAT32", list(values.shape))), values.ravel().tolist()


def cell(seed):
    return (
        pattern(seed, UNITS, SIZE),
        pattern(seed + 1, UNITS, UNITS),
        pattern(seed + 2, UNITS),
        pattern(seed + 3, BATCH, UNITS),
    )


data = pattern(9, TIME, BATCH, SIZE) * 2
for code in BOUNDS:
    for time_major in (0, 1):
        expected = unrolled(data, None, cell(1), None, code)
        given = data if time_major else data.swapaxes(0, 1)
        expected = expected if time_major else expected.swapaxes(0, 1)
        operands = [floats("x", values) for values in (given, *cell(1))]
        z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
        Model(f"sequence_{code}_{time_major}").Operation(
            "UNIDIRECTIONAL_SEQUENCE_RNN", *[x for x, _ in operands], code, time_major
        ).To(z)
        Example({**dict(operands), z: expected.ravel().tolist()}).AddVariations("float16")

aux = pattern(4, TIME, BATCH, SIZE)
aux_weights = pattern(5, UNITS, SIZE), pattern(6, UNITS, SIZE)
for linking in ("none", "cross", "parallel"):
    for merge in (False, True):
        crossed = linking == "cross"
        forward = unrolled(data, aux if crossed else None, cell(1), aux_weights[0], 2)
        source = aux if linking == "parallel" else data
        backward = unrolled(
            source[::-1], aux[::-1] if crossed else None, cell(2), aux_weights[1], 2
        )[::-1]
        results = [np.concatenate([forward, backward], 2)] if merge else [forward, backward]
        operands = [floats("x", values) for values in (data, *cell(1), *cell(2))]
        for values, there in ((aux, linking != "none"), *((w, crossed) for w in aux_weights)):
            if there:
                operands.append(floats("a", values))
            else:
                operands.append((Parameter("none", ("TENSOR_FLOAT32", [0]), None), None))
        outputs = [Output("z", ("TENSOR_FLOAT32", list(each.shape))) for each in results]
        Model(f"both_{linking}" + "_merged" * merge).Operation(
            "BIDIRECTIONAL_SEQUENCE_RNN", *[x for x, _ in operands], 2, True, merge
        ).To(*outputs)
        feeds = {x: values for x, values in operands if values is not None}
        feeds.update({z: each.ravel().tolist() for z, each in zip(outputs, results, strict=True)})
        Example(feeds).AddVariations("float16")
