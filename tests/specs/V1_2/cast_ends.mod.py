# SPDX-License-Identifier: Apache-2.0
# Fractions are dropped, bytes saturate, and whole numbers come as near as a float can.

x = Input("x", "TENSOR_FLOAT32", "{7}")
floats = [-1.75, -0.5, 0.5, 1.75, 254.9, 300, -1000]
z = Output("z", "TENSOR_INT32", "{7}")
Model("to_int32").Operation("CAST", x).To(z)
Example({x: floats, z: [-1, 0, 0, 1, 254, 300, -1000]})
z = Output("z", "TENSOR_QUANT8_ASYMM", "{7}, 3.0f, 7")
Model("to_quant8").Operation("CAST", x).To(z)
Example({x: floats, z: [0, 0, 0, 1, 254, 255, 0]})

x = Input("x", "TENSOR_INT32", "{6}")
whole = [-(2**31), 2**31 - 1, 16777217, -1, 256, 255]
z = Output("z", "TENSOR_FLOAT32", "{6}")
Model("from_int32").Operation("CAST", x).To(z)
Example({x: whole, z: [-2147483648.0, 2147483648.0, 16777216.0, -1, 256, 255]})
z = Output("z", "TENSOR_QUANT8_ASYMM", "{6}, 3.0f, 7")
Model("int32_to_quant8").Operation("CAST", x).To(z)
Example({x: whole, z: [0, 255, 255, 0, 255, 255]})

# Their scale and zero point do not count.
x = Input("x", "TENSOR_QUANT8_ASYMM", "{3}, 0.125f, 200")
for name, kind in (
    ("float32", "TENSOR_FLOAT32"),
    ("float16", "TENSOR_FLOAT16"),
    ("int32", "TENSOR_INT32"),
):
    z = Output("z", (kind, [3]))
    Model("quant8_to_" + name).Operation("CAST", x).To(z)
    Example({x: [0, 200, 255], z: [0, 200, 255]})
