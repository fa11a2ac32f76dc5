# SPDX-License-Identifier: Apache-2.0
# Each pixel's channels by their norm: 3, 4, 12 have 13, and 1, 2, 2 have 3.

x = Input("x", ("TENSOR_FLOAT32", [1, 2, 2, 3]))
z = Output("z", ("TENSOR_FLOAT32", [1, 2, 2, 3]))
Model().Operation("L2_NORMALIZATION", x).To(z)
quant8 = DataTypeConverter(name="quant8").Identify(
    {x: ("TENSOR_QUANT8_ASYMM", 0.5, 32), z: ("TENSOR_QUANT8_ASYMM", 1 / 128, 128)}
)
given = [3, -4, 12, 1, 2, -2, 0, 0, -7, 0, 5, 0]
lengths = [13, 3, 7, 5]
expected = [value / lengths[at // 3] for at, value in enumerate(given)]
Example({x: given, z: expected}).AddVariations("float16", quant8)
Example.SetVersion("V1_2", "l2_normalization_float16", "l2_normalization_quant8")
