# SPDX-License-Identifier: Apache-2.0
# Halves go to even, and both ends saturate.

x = Input("x", "TENSOR_FLOAT32", "{6}")
z = Output("z", "TENSOR_QUANT8_ASYMM", "{6}, 1.0f, 100")
Model().Operation("QUANTIZE", x).To(z)
Example({x: [-200, -100, 0.25, 1.0, 154.75, 1000], z: [0, 0, 100, 101, 255, 255]}).AddVariations(
    "float16"
)
