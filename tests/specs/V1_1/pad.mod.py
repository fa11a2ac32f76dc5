# SPDX-License-Identifier: Apache-2.0
# Quantised padding is the zero point: the number zero, which was 0 in 1.1.

x = Input("x", ("TENSOR_FLOAT32", [2, 1]))
padding = Parameter("padding", ("TENSOR_INT32", [2, 2]), [1, 0, 0, 2])
z = Output("z", ("TENSOR_FLOAT32", [3, 3]))
Model().Operation("PAD", x, padding).To(z)
quant8 = DataTypeConverter("quant8", scale=0.5, zeroPoint=9)
zero = DataTypeConverter("quant8", name="zero", scale=0.5, zeroPoint=0)
Example({x: [1, 2], z: [0, 0, 0, 1, 0, 0, 2, 0, 0]}).AddVariations(
    "relaxed", "float16", quant8, zero
)
# Beside 0, a zero point came with 1.2.
Example.SetVersion("V1_2", "pad_quant8", "pad_float16")
