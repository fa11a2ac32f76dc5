# SPDX-License-Identifier: Apache-2.0
# A new axis in front, between and at the end, in every type of 1.2.

for axis, shape in ((0, [1, 2, 3]), (1, [2, 1, 3]), (2, [2, 3, 1]), (-1, [2, 3, 1])):
    x, z = Input("x", ("TENSOR_FLOAT32", [2, 3])), Output("z", ("TENSOR_FLOAT32", shape))
    Model(f"{axis % 3}{'_neg' if axis < 0 else ''}").Operation("EXPAND_DIMS", x, axis).To(z)
    values = [-2, -1, 0, 1, 2, 3]
    Example({x: values, z: values}).AddVariations(
        "float16", "int32", DataTypeConverter("quant8", scale=0.5, zeroPoint=40)
    )
