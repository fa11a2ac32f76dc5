# SPDX-License-Identifier: Apache-2.0
# The two largest of a row, and where they were.

x = Input("x", "TENSOR_FLOAT32", "{2, 4}")
k = Int32Scalar("k", 2)
values = Output("values", "TENSOR_FLOAT32", "{2, 2}")
indices = Output("indices", "TENSOR_INT32", "{2, 2}")
Model().Operation("TOPK_V2", x, k).To(values, indices)
Example(
    {x: [1, 4, 2, 3, -1, -4, -2, -3], values: [4, 3, -1, -2], indices: [1, 3, 0, 2]}
).AddVariations("float16", DataTypeConverter("quant8", scale=1.0, zeroPoint=128))
