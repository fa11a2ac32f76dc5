# SPDX-License-Identifier: Apache-2.0
# x * relu6(x + 3) / 6, with results that a quantised type holds exactly.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{2, 3}")
Model().Operation("HARD_SWISH", x).To(z)
Example({x: [-6, -3, -1.5, 0, 1.5, 6], z: [0, 0, -0.375, 0, 1.125, 6]}).AddVariations(
    "relaxed",
    "float16",
    DataTypeConverter("quant8", scale=0.375, zeroPoint=100),
    DataTypeConverter("quant8_signed", scale=0.375, zeroPoint=-100, name="bytes"),
)
