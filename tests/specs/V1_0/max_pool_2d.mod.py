# SPDX-License-Identifier: Apache-2.0
# Explicit padding and stride 2: the padding never wins, even against negative numbers.

x = Input("x", ("TENSOR_FLOAT32", (1, 3, 3, 1)))
z = Output("z", ("TENSOR_FLOAT32", (1, 2, 2, 1)))
Model().Operation("MAX_POOL_2D", x, 0, 1, 0, 1, 2, 2, 2, 2, 0).To(z)
quant8 = DataTypeConverter("quant8", scale=0.5, zeroPoint=200)
Example({x: [-9, -8, -7, -6, -5, -4, -3, -2, -1], z: [-5, -4, -2, -1]}).AddVariations(quant8)
