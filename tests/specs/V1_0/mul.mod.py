# SPDX-License-Identifier: Apache-2.0
# Legacy operand types with scale and zero point; saturation at both ends of the range. And floats.

x = Input("x", "TENSOR_QUANT8_ASYMM", "{4}, 1.0f, 128")
y = Input("y", "TENSOR_QUANT8_ASYMM", "{4}, 0.5f, 0")
z = Output("z", "TENSOR_QUANT8_ASYMM", "{4}, 1.0f, 128")
Model().Operation("MUL", x, y, 0).To(z)

# The result is 128 more than (x - 128) times half of y.
Example({x: [0, 255, 129, 126], y: [200, 200, 8, 6], z: [0, 255, 132, 122]})

f = Input("f", "TENSOR_FLOAT32", "{2, 2}")
g = Input("g", "TENSOR_FLOAT32", "{2}")
h = Output("h", "TENSOR_FLOAT32", "{2, 2}")
Model("float").Operation("MUL", f, g, 0).To(h)
Example({f: [1, 2, 3, -4], g: [0.5, -8], h: [0.5, -16, 1.5, 32]})
