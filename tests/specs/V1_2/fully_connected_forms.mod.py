# SPDX-License-Identifier: Apache-2.0
# Inputs of rank 3 and 4 that are taken as rows, tails, float16, and bytes beyond the output's
# range.

import numpy as np

FORMS = {"rank3": ([2, 3, 4], 3, 12), "rank4": ([1, 2, 1, 17], 5, 17), "rows": ([4, 3], 1, 6)}
for name, (shape, units, size) in FORMS.items():
    values = (np.arange(np.prod(shape)) * 7 % 11 - 5.0).reshape(-1, size)
    weight_values = (np.arange(units * size) * 5 % 9 - 4.0).reshape(units, size)
    bias_values = np.arange(units) - 1.0
    expected = values @ weight_values.T + bias_values
    x = Input("x", ("TENSOR_FLOAT16", shape))
    weights = Parameter("w", ("TENSOR_FLOAT16", [units, size]), weight_values.ravel().tolist())
    bias = Parameter("b", ("TENSOR_FLOAT16", [units]), bias_values.tolist())
    act = Int32Scalar("act", 0)
    z = Output("z", ("TENSOR_FLOAT16", list(expected.shape)))
    Model(name).Operation("FULLY_CONNECTED", x, weights, bias, act).To(z)
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddAllActivations(z, act)

    # The input's scale times that of the weights is larger than the output's: from 1.2 on.
    steps, weight_steps = values * 2 + 128, weight_values * 4 + 100
    result = np.clip(np.rint(expected / 0.0625) + 128, 0, 255)
    x = Input("x", ("TENSOR_QUANT8_ASYMM", shape, 0.5, 128))
    weights = Parameter(
        "w",
        ("TENSOR_QUANT8_ASYMM", [units, size], 0.25, 100),
        weight_steps.ravel().astype(int).tolist(),
    )
    bias = Parameter(
        "b", ("TENSOR_INT32", [units], 0.125, 0), (bias_values * 8).astype(int).tolist()
    )
    z = Output("z", ("TENSOR_QUANT8_ASYMM", list(expected.shape), 0.0625, 128))
    Model(name + "_quant8").Operation("FULLY_CONNECTED", x, weights, bias, 0).To(z)
    Example({x: steps.ravel().astype(int).tolist(), z: result.ravel().astype(int).tolist()})
