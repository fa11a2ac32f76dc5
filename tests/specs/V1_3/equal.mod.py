# SPDX-License-Identifier: Apache-2.0
# A comparison that broadcasts; the operands are the spec's own kind of object.

x = Input("x", "TENSOR_FLOAT32", "{2, 2}")
y = Input("y", "TENSOR_FLOAT32", "{2}")
z = Output("z", "TENSOR_BOOL8", "{2, 2}")
assert all(isinstance(each, Operand) for each in (x, y, z))
Model().Operation("EQUAL", x, y).To(z)
Example({x: [1, 2, 2, 1], y: [1, 1], z: [True, False, False, True]}).AddVariations(
    "float16", "int32", DataTypeConverter("quant8_signed", scale=1.0, zeroPoint=-1)
)
