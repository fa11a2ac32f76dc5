# SPDX-License-Identifier: Apache-2.0
# The same numbers along each axis, in each rank.

x = Input("x", "TENSOR_FLOAT32", "{1, 2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{1, 2, 3}")
axis = Int32Scalar("axis", -1)
# Powers of two in a row: 1, 2 and 4 sevenths.
LN2 = 0.6931471805599453
row = [0.0, LN2, 2 * LN2]
sevenths = [1 / 7, 2 / 7, 4 / 7]

Model().Operation("SOFTMAX", x, 1.0).To(z)
Example({x: row * 2, z: sevenths * 2}).AddDims([1, 3], x, z, defaultName="whole")
Model("all").Operation("SOFTMAX", x, 1.0).To(z)
Example({x: row * 2, z: sevenths * 2}).AddAllDims(x, z).AddVariations("relaxed")
Model("axis").Operation("SOFTMAX", x, 1.0, axis).To(z)
quant8 = DataTypeConverter().Identify(
    {x: ("TENSOR_QUANT8_ASYMM", LN2, 128), z: ("TENSOR_QUANT8_ASYMM", 1 / 256, 0)}
)
Example({x: row * 2, z: sevenths * 2}).AddVariations(quant8, "float16").AddAllDimsAndAxis(
    x, z, axis
)
