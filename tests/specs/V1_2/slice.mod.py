# SPDX-License-Identifier: Apache-2.0
# A part of each axis; a size of -1 takes all that is left.

x = Input("x", "TENSOR_FLOAT32", "{3, 2}")
begin = Input("begin", "TENSOR_INT32", "{2}").ShouldNeverBeInternal()
size = Parameter("size", "TENSOR_INT32", "{2}", [-1, 1])
z = Output("z", "TENSOR_FLOAT32", "{2, 1}")
Model().Operation("SLICE", x, begin, size).To(z)
Example({x: [1, 2, 3, 4, 5, 6], begin: [1, 1], z: [4, 6]}).AddVariations(
    "float16", "int32", DataTypeConverter("quant8", scale=0.5, zeroPoint=3)
)
