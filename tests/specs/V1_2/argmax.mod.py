# SPDX-License-Identifier: Apache-2.0
# The first of the greatest, by axes from either end, in each type.

values = [3, 9, 9, -1, -2, -3]
for axis, shape, expected in ((-1, "{2}", [1, 0]), (0, "{3}", [0, 0, 0])):
    x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
    z = Output("z", "TENSOR_INT32", shape)
    Model(f"axis{axis % 2}").Operation("ARGMAX", x, axis).To(z)
    quant8 = DataTypeConverter("quant8", scale=1.0, zeroPoint=128)
    int32 = DataTypeConverter().Identify({x: ("TENSOR_INT32",)})
    Example({x: values, z: expected}).AddVariations("relaxed", "float16", quant8, int32)
