# SPDX-License-Identifier: Apache-2.0
# Three outputs in a list; the version of a case that an earlier HAL cannot carry.

x = Input("x", ("TENSOR_FLOAT32", [3, 2]))
parts = [Output("part", ("TENSOR_FLOAT32", [1, 2])) for _ in range(3)]
Model().IntroducedIn("V1_2").Operation("SPLIT", x, 0, 3).To(parts)
Example(
    {x: [1, 2, 3, 4, 5, 6], parts[0]: [1, 2], parts[1]: [3, 4], parts[2]: [5, 6]}
).AddVariations(
    "int32",
    "float16",
    DataTypeConverter("quant8", scale=0.25, zeroPoint=0),
    DataTypeConverter("quant8_signed", scale=0.25, zeroPoint=-128),
)
Example.SetVersion("V1_3", "split_quant8_signed")
