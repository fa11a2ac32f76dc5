# SPDX-License-Identifier: Apache-2.0
# Positions beyond the image do not count; halves of quantised means go away from zero.

x = Input("x", "TENSOR_FLOAT32", "{1, 2, 3, 1}")
z = Output("z", "TENSOR_FLOAT32", "{1, 2, 3, 1}")
# Padding SAME, strides of 1, a 2x2 window.
Model().Operation("AVERAGE_POOL_2D", x, 1, 1, 1, 2, 2, 0).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [3, 4, 4.5, 4.5, 5.5, 6]}).AddVariations("relaxed")

q = Input("q", "TENSOR_QUANT8_ASYMM", "{1, 1, 2, 1}, 1.0f, 0")
m = Output("m", "TENSOR_QUANT8_ASYMM", "{1, 1, 1, 1}, 1.0f, 0")
Model("halves").Operation("AVERAGE_POOL_2D", q, 2, 1, 1, 2, 1, 0).To(m)
Example({q: [2, 3], m: [3]}, name="up")
Example({q: [254, 255], m: [255]}, name="greatest")
