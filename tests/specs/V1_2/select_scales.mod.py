# SPDX-License-Identifier: Apache-2.0
# The two choices and the output each have a scale of their own; what does not fit saturates.

c = Input("c", "TENSOR_BOOL8", "{2, 3}")
x = Input("x", "TENSOR_QUANT8_ASYMM", "{2, 3}, 0.5f, 128")
y = Input("y", "TENSOR_QUANT8_ASYMM", "{2, 3}, 2.0f, 0")
z = Output("z", "TENSOR_QUANT8_ASYMM", "{2, 3}, 1.0f, 100")
Model().Operation("SELECT", c, x, y).To(z)
Example(
    {
        c: [True, False, True, False, True, False],
        x: [0, 0, 255, 0, 132, 0],
        y: [0, 255, 0, 10, 0, 0],
        z: [36, 255, 164, 120, 102, 100],
    }
)

c = Input("c", "TENSOR_BOOL8", "{5}")
x, y = (Input(which, "TENSOR_FLOAT32", "{5}") for which in "xy")
z = Output("z", "TENSOR_FLOAT32", "{5}")
inf = float("inf")
Model("infinite").Operation("SELECT", c, x, y).To(z)
Example(
    {
        c: [True, False, True, False, True],
        x: [inf, 1, -inf, 2, -0.0],
        y: [3, -inf, 4, inf, 5],
        z: [inf, -inf, -inf, inf, 0.0],
    }
).AddVariations("float16")
