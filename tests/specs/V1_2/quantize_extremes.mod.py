# SPDX-License-Identifier: Apache-2.0
# Infinities and what lies far beyond the range; a step is never more than half a scale away.

inf = float("inf")
x = Input("x", "TENSOR_FLOAT32", "{7}")
for name, zero_point, expected in (
    ("low", 0, [255, 0, 255, 0, 3, 0, 255]),
    ("high", 255, [255, 0, 255, 0, 255, 252, 255]),
    ("middle", 128, [255, 0, 255, 0, 131, 125, 255]),
):
    z = Output("z", "TENSOR_QUANT8_ASYMM", f"{{7}}, 0.25f, {zero_point}")
    Model(name).Operation("QUANTIZE", x).To(z)
    Example({x: [inf, -inf, 65504, -65504, 0.75, -0.75, 63.75], z: expected}).AddVariations(
        "float16"
    )

# Of more than four dimensions.
deep = Input("deep", "TENSOR_FLOAT32", "{1, 2, 1, 2, 1}")
z = Output("z", "TENSOR_QUANT8_ASYMM", "{1, 2, 1, 2, 1}, 0.5f, 10")
Model("deep").Operation("QUANTIZE", deep).To(z)
Example({deep: [1, -1, 2.5, 0], z: [12, 8, 15, 10]})
