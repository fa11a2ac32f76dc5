# SPDX-License-Identifier: Apache-2.0
# Twice downwards and three times to the right.

x = Input("x", ("TENSOR_FLOAT32", [2, 2]))
z = Output("z", ("TENSOR_FLOAT32", [4, 6]))
Model().Operation("TILE", x, Parameter("multiples", ("TENSOR_INT32", [2]), [2, 3])).To(z)
first, second = [1, -2] * 3, [3, 4.5] * 3
Example({x: [1, -2, 3, 4.5], z: (first + second) * 2}).AddVariations(
    "float16", DataTypeConverter("quant8", scale=0.5, zeroPoint=40)
)
