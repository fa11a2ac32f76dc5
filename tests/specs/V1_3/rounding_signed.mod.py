# SPDX-License-Identifier: Apache-2.0
# QUANTIZE to signed bytes and back, at both ends and of infinities.

inf = float("inf")
x = Input("x", "TENSOR_FLOAT32", "{6}")
z = Output("z", "TENSOR_QUANT8_ASYMM_SIGNED", "{6}, 0.25f, -3")
Model("quantize").Operation("QUANTIZE", x).To(z)
Example({x: [inf, -inf, 0, 0.75, -0.75, 65504], z: [127, -128, -3, 0, -6, 127]}).AddVariations(
    "float16"
)

x = Input("x", "TENSOR_QUANT8_ASYMM_SIGNED", "{3}, 0.25f, -3")
for kind in ("TENSOR_FLOAT32", "TENSOR_FLOAT16"):
    z = Output("z", (kind, [3]))
    Model("dequantize_" + kind[-7:].lower()).Operation("DEQUANTIZE", x).To(z)
    Example({x: [-128, -3, 127], z: [-31.25, 0, 32.5]})
