# SPDX-License-Identifier: Apache-2.0
# Along each axis, also counted from the end; bytes of one scale, and halves.

a = Input("a", ("TENSOR_FLOAT32", [2, 2]))
b = Input("b", ("TENSOR_FLOAT32", [2, 2]))
rows = Output("rows", ("TENSOR_FLOAT32", [4, 2]))
columns = Output("columns", ("TENSOR_FLOAT32", [2, 4]))
down = Model("down").Operation("CONCATENATION", a, b, 0).To(rows)
aside = Model("aside").Operation("CONCATENATION", a, b, 1).To(columns)

# Feeds for the same model, of which the second is a test of its own.
Example(
    {a: [1, 2, 3, 4], b: [5, 6, 7, 8], rows: [1, 2, 3, 4, 5, 6, 7, 8]},
    {a: [0, 0, 0, 0], b: [-1, -2, -3, -4], rows: [0, 0, 0, 0, -1, -2, -3, -4]},
    model=down,
)
Example(
    {a: [1, 2, 3, 4], b: [5, 6, 7, 8], columns: [1, 2, 5, 6, 3, 4, 7, 8]}, model=aside
).AddVariations(DataTypeConverter("quant8", scale=0.5, zeroPoint=3), "float16")
Example.SetVersion("V1_2", "concatenation_aside_float16")
# Merged with the first example: the same model, no name, no variations.
Example(({a: [9, 9, 9, 9], b: [8, 8, 8, 8]}, {rows: [9] * 4 + [8] * 4}), model=down)
