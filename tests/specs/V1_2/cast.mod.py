# SPDX-License-Identifier: Apache-2.0
# To bytes, where everything is cut off and saturates, and to halves.

x = Input("x", "TENSOR_FLOAT32", "{6}")
numbers = [-3.5, -0.75, 0.0, 1.75, 254.5, 300.0]
for name, kind, expected in (
    ("int32", "TENSOR_INT32", [-3, 0, 0, 1, 254, 300]),
    ("half", "TENSOR_FLOAT16", [-3.5, -0.75, 0, 1.75, 254.5, 300]),
    ("quant8", "TENSOR_QUANT8_ASYMM", [0, 0, 0, 1, 254, 255]),
):
    z = Output("z", (kind, [6], 1.0, 7) if kind == "TENSOR_QUANT8_ASYMM" else (kind, [6]))
    Model(name).Operation("CAST", x).To(z)
    Example({x: numbers, z: expected})
