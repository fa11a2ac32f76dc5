# SPDX-License-Identifier: Apache-2.0
# Over two axes, which go or stay as extents of 1.

x = Input("x", "TENSOR_FLOAT32", "{2, 3, 2}")
axes = Parameter("axes", "TENSOR_INT32", "{2}", [1, -1])
values = [1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6]
for keep, shape in ((0, "{2}"), (1, "{2, 1, 1}")):
    z = Output("z", "TENSOR_FLOAT32", shape)
    Model("keep" if keep else "").Operation("MEAN", x, axes, keep).To(z)
    Example({x: values, z: [3.5, -3.5]}).AddVariations(
        DataTypeConverter("quant8", scale=0.5, zeroPoint=100)
    )
