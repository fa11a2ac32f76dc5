# SPDX-License-Identifier: Apache-2.0
# Exponents that overflow unless the largest is taken out, a huge beta, one class, axes from either
# end.

import numpy as np


def softmax(values, beta, axis):
    powers = np.exp(beta * (values - values.max(axis=axis, keepdims=True)))
    return powers / powers.sum(axis=axis, keepdims=True)


CASES = {
    "large": (np.array([[1000.0, 999.0, -1000.0]]), 1.0, 1),
    "small": (np.array([[-1000.0, -1001.0], [-1000.0, -1000.0]]), 1.0, -1),
    "steep": (np.array([[1.0, 1.5], [2.0, 1.0]]), 100.0, 0),
    "one": (np.array([[3.0], [-4.0]]), 1.0, -1),
    "middle": (np.arange(12.0).reshape(2, 3, 2) % 5, 0.5, -2),
}
for name, (values, beta, axis) in CASES.items():
    x = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
    z = Output("z", ("TENSOR_FLOAT32", list(values.shape)))
    Model(name).Operation("SOFTMAX", x, Float32Scalar("beta", beta), axis).To(z)
    expected = softmax(values, beta, axis)
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations("float16")
    Model(name + "_log").Operation("LOG_SOFTMAX", x, Float32Scalar("beta", beta), axis).To(z)
    with np.errstate(divide="ignore"):
        shifted = beta * (values - values.max(axis=axis, keepdims=True))
        expected = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations("float16")
