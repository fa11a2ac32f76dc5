# SPDX-License-Identifier: Apache-2.0
# Quantised padding is the zero point: the number zero.

x = Input("x", ("TENSOR_FLOAT32", [2, 1]))
padding = Parameter("padding", ("TENSOR_INT32", [2, 2]), [1, 0, 0, 2])
z = Output("z", ("TENSOR_FLOAT32", [3, 3]))
Model().Operation("PAD", x, padding).To(z)
quant8 = DataTypeConverter("quant8", scale=0.5, zeroPoint=9)
Example({x: [1, 2], z: [0, 0, 0, 1, 0, 0, 2, 0, 0]}).AddVariations("relaxed", quant8)
# Beside 0, a zero point came with 1.2.
Example.SetVersion("V1_2", "pad_quant8")
