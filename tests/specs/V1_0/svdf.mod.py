# SPDX-License-Identifier: Apache-2.0
# Two filters for each unit, with a memory of three values: the last place of the state is free for
# the new one, and what is given back has its last place free again. With a bias, and without.

import numpy as np

BATCH, SIZE, UNITS, RANK, MEMORY = 2, 3, 2, 2, 3
FILTERS = UNITS * RANK


def small(seed, *shape):
    return ((np.arange(np.prod(shape)) * 5 + seed * 3) % 9 - 4.0).reshape(shape) / 4


data, feature, time = small(1, BATCH, SIZE), small(2, FILTERS, SIZE), small(3, FILTERS, MEMORY)
state, bias = small(4, BATCH, FILTERS, MEMORY), np.array([0.5, -1.5])
memory = state.copy()
memory[:, :, -1] = data @ feature.T
sums = (memory * time).sum(2).reshape(BATCH, UNITS, RANK).sum(2)
after = np.zeros_like(memory)
after[:, :, :-1] = memory[:, :, 1:]

for name in ("biased", "plain"):
    given = [data, feature, time, bias, state.reshape(BATCH, FILTERS * MEMORY)]
    inputs = [Input("x", ("TENSOR_FLOAT32", list(each.shape))) for each in given]
    feeds = {x: values.ravel().tolist() for x, values in zip(inputs, given, strict=True)}
    if name == "plain":
        del feeds[inputs[3]]
        inputs[3] = Parameter("none", ("TENSOR_FLOAT32", [0]), None)
    kept = Output("kept", ("TENSOR_FLOAT32", [BATCH, FILTERS * MEMORY]))
    z = Output("z", ("TENSOR_FLOAT32", [BATCH, UNITS]))
    Model(name).Operation("SVDF", *inputs, RANK, 0).To(kept, z)
    output = sums + bias if name == "biased" else sums
    Example({**feeds, kept: after.ravel().tolist(), z: output.ravel().tolist()}).AddVariations(
        "float16"
    )
    Example.SetVersion("V1_2", f"svdf_{name}_float16")
