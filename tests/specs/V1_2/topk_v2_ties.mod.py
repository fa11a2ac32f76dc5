# SPDX-License-Identifier: Apache-2.0
# "If two values are equal, the one with larger index appears first."

rows = [3, 1, 3, 3, 2, -1, -1, 0, -1, -1]
x = Input("x", "TENSOR_FLOAT32", "{2, 5}")
values = Output("values", "TENSOR_FLOAT32", "{2, 4}")
indices = Output("indices", "TENSOR_INT32", "{2, 4}")
Model().Operation("TOPK_V2", x, 4).To(values, indices)
Example(
    {x: rows, values: [3, 3, 3, 2, 0, -1, -1, -1], indices: [3, 2, 0, 4, 2, 4, 3, 1]}
).AddVariations("float16", "int32", DataTypeConverter("quant8", scale=0.5, zeroPoint=9))

# All of a row, of one dimension, and infinities.
inf = float("inf")
x = Input("x", "TENSOR_FLOAT32", "{5}")
values = Output("values", "TENSOR_FLOAT32", "{5}")
indices = Output("indices", "TENSOR_INT32", "{5}")
Model("infinite").Operation("TOPK_V2", x, 5).To(values, indices)
Example(
    {x: [-inf, 1, inf, -inf, inf], values: [inf, inf, 1, -inf, -inf], indices: [4, 2, 1, 3, 0]}
).AddVariations("float16")
