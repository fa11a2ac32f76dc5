# SPDX-License-Identifier: Apache-2.0
# Legacy operand types with scale and zero point; saturation at both ends of the range.

x = Input("x", "TENSOR_QUANT8_ASYMM", "{4}, 1.0f, 128")
y = Input("y", "TENSOR_QUANT8_ASYMM", "{4}, 0.5f, 0")
z = Output("z", "TENSOR_QUANT8_ASYMM", "{4}, 1.0f, 128")
Model().Operation("MUL", x, y, 0).To(z)

# The result is 128 more than (x - 128) times half of y.
Example({x: [0, 255, 129, 126], y: [200, 200, 8, 6], z: [0, 255, 132, 122]})
