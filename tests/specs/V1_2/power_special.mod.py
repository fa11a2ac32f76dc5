# SPDX-License-Identifier: Apache-2.0
# POW as IEEE has it: zero, infinities, negative bases, and a base and an exponent that are
# broadcast.

inf = float("inf")
x, y = (Input(which, "TENSOR_FLOAT32", "{9}") for which in "xy")
z = Output("z", "TENSOR_FLOAT32", "{9}")
Model().Operation("POW", x, y).To(z)
Example(
    {
        x: [0, 0, inf, inf, -2, -2, -0.5, 9, 1],
        y: [0, -1, -1, 2, 3, -2, 2, 0.5, inf],
        z: [1, inf, 0, inf, -8, 0.25, 0.25, 3, 1],
    }
).AddVariations("float16")

x, y = Input("x", "TENSOR_FLOAT32", "{3, 1}"), Input("y", "TENSOR_FLOAT32", "{2}")
z = Output("z", "TENSOR_FLOAT32", "{3, 2}")
Model("broadcast").Operation("POW", x, y).To(z)
Example({x: [1, 2, -3], y: [2, 3], z: [1, 1, 4, 8, 9, -27]}).AddVariations("float16")
