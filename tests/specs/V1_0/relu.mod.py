# SPDX-License-Identifier: Apache-2.0
# The three clamps over the same numbers, as named models.

for name, low, high in (("RELU", 0.0, 255.0), ("RELU1", -1.0, 1.0), ("RELU6", 0.0, 6.0)):
    x = Input("x", "TENSOR_FLOAT32", "{1, 2, 2, 2}")
    z = Output("z", "TENSOR_FLOAT32", "{1, 2, 2, 2}")
    Model(name.lower()).Operation(name, x).To(z)
    numbers = [-10.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 7.5]
    Example({x: numbers, z: [min(max(number, low), high) for number in numbers]}).AddVariations(
        DataTypeConverter("quant8", scale=0.5, zeroPoint=20)
    )
