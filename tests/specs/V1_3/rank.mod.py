# SPDX-License-Identifier: Apache-2.0
# Of every type, as a scalar.

z = Output("z", "INT32", "{}")
x = Input("x", "TENSOR_FLOAT32", "{1, 1, 2}")
Model().Operation("RANK", x).To(z)
Example({x: [1, 2], z: 3}).AddVariations(
    "float16",
    "int32",
    DataTypeConverter("quant8", scale=1.0, zeroPoint=3),
    DataTypeConverter("quant8_signed", scale=1.0, zeroPoint=3),
)
