# SPDX-License-Identifier: Apache-2.0
# Two models of which one runs, in each type; then one model for both branches.

KIND = ["TENSOR_FLOAT32", [2]]


def branch(operation):
    x, y, z = Input("x", KIND), Input("y", KIND), Output("z", KIND)
    model = Model().IdentifyInputs(x, y).IdentifyOutputs(z)
    return model.Operation(operation, x, y, 0).To(z)


def test(condition, expected):
    choice = Input("choice", ["TENSOR_BOOL8", [1]])
    x, y, z = Input("x", KIND), Input("y", KIND), Output("z", KIND)
    add, sub = branch("ADD"), branch("SUB")
    Model().Operation("IF", choice, add, sub, x, y).To(z)
    example = Example(
        {choice: [condition], x: [1, 2], y: [10, 0.5], z: expected}, name=str(condition)
    )
    example.AddVariations(
        "relaxed",
        "float16",
        DataTypeConverter("quant8", scale=0.5, zeroPoint=100),
        DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=-28),
    )
    example.AddVariations(AllOutputsAsInternalCoverter())


test(True, [11, 2.5])
test(False, [-9, 1.5])

choice = Input("choice", ["TENSOR_BOOL8", [1]])
x, y, z = Input("x", KIND), Input("y", KIND), Output("z", KIND)
both = SubgraphReference("both", branch("MUL"))
Model("same").Operation("IF", choice, both, both, x, y).To(z)
Example({choice: [False], x: [1, 2], y: [10, 0.5], z: [10, 1]})
