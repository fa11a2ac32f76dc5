# SPDX-License-Identifier: Apache-2.0
# One step of a cell without gates: with a RELU the new state is the positive part of the sum, which
# is the output as well.

import numpy as np

data, state = np.array([[1.0, -2.0, 0.5]]), np.array([[0.25, -0.75]])
weights, recurrent = np.array([[1, 2, -1], [0.5, -1, 2]]), np.array([[2.0, -1.0], [1.0, 3.0]])
bias = np.array([4.0, -0.5])
output = np.maximum(data @ weights.T + state @ recurrent.T + bias, 0)

feeds = {}
for values in (data, weights, recurrent, bias, state):
    feeds[Input("x", ("TENSOR_FLOAT32", list(values.shape)))] = values.ravel().tolist()
results = [Output("z", ("TENSOR_FLOAT32", [1, 2])) for _ in range(2)]
Model().Operation("RNN", *feeds, 1).To(*results)
feeds.update(dict.fromkeys(results, output.ravel().tolist()))
Example(feeds).AddVariations("float16")
Example.SetVersion("V1_2", "rnn_float16")
