# SPDX-License-Identifier: Apache-2.0
# Infinities, integers, and what lies just below one.

inf = float("inf")
x = Input("x", "TENSOR_FLOAT32", "{8}")
z = Output("z", "TENSOR_FLOAT32", "{8}")
Model().Operation("FLOOR", x).To(z)
Example(
    {
        x: [inf, -inf, -0.5, 0.99999994, -2.0, 16777215.0, -8388607.5, 1e-40],
        z: [inf, -inf, -1.0, 0.0, -2.0, 16777215.0, -8388608.0, 0.0],
    }
)
