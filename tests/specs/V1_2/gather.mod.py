# SPDX-License-Identifier: Apache-2.0
# Indices as a vector and as an input, along the last axis.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{2, 2}")
Model().Operation("GATHER", x, -1, [2, 0]).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [3, 1, 6, 4]}).AddVariations(
    "float16", "int32", DataTypeConverter("quant8", scale=0.5, zeroPoint=1)
)

indices = Input("indices", "TENSOR_INT32", "{2}")
Model("fed").Operation("GATHER", x, 1, indices).To(z)
Example({x: [1, 2, 3, 4, 5, 6], indices: [1, 1], z: [2, 2, 5, 5]})
