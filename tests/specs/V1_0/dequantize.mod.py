# SPDX-License-Identifier: Apache-2.0
# (value - zero point) * scale, in a model whose versions say what it needs.

x = Input("x", ("TENSOR_QUANT8_ASYMM", [4], 0.5, 127))
z = Output("z", ("TENSOR_FLOAT32", [4]))
Model().Operation("DEQUANTIZE", x).To(z)
Example({x: [0, 127, 128, 255], z: [-63.5, 0, 0.5, 64]}).AddVariations(
    DataTypeConverter().Identify({z: ("TENSOR_FLOAT16",)})
)
# A half came with 1.2.
Example.SetVersion("V1_2", "dequantize_float16")
