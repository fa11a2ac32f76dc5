# SPDX-License-Identifier: Apache-2.0
# An IF whose condition has no value chooses no branch, whether the model or the request leaves it
# out. A branch that can do without a value that the IF is not given runs without it.

KIND = ["TENSOR_FLOAT32", [2]]
for name in ("model", "request"):
    branches = []
    for operation in ("RELU", "TANH"):
        x, z = Input("x", KIND), Output("z", KIND)
        branch = Model().IdentifyInputs(x).IdentifyOutputs(z)
        branches.append(branch.Operation(operation, x).To(z))
    x, z = Input("x", KIND), Output("z", KIND)
    feeds = {x: [1, 2], z: [1, 2]}
    choice = Parameter("choice", ["TENSOR_BOOL8", [1]], None)
    if name == "request":
        choice = Input("choice", ["TENSOR_BOOL8", [1]])
        feeds[choice] = []
    Model(name).Operation("IF", choice, *branches, x).To(z)
    Example(feeds).ExpectFailure().DisableLifeTimeVariation()

# TRANSPOSE reverses the axes without a list of them.
MATRIX, TURNED = ["TENSOR_FLOAT32", [2, 3]], ["TENSOR_FLOAT32", [3, 2]]
LIST = ["TENSOR_INT32", [2]]
x, order, z = Input("x", MATRIX), Input("order", LIST), Output("z", TURNED)
branch = Model().IdentifyInputs(x, order).IdentifyOutputs(z).Operation("TRANSPOSE", x, order).To(z)
both = SubgraphReference("both", branch)
choice = Input("choice", ["TENSOR_BOOL8", [1]])
x, z = Input("x", MATRIX), Output("z", TURNED)
order = Parameter("order", LIST, None)
Model("transpose").Operation("IF", choice, both, both, x, order).To(z)
Example({choice: [True], x: [1, 2, 3, 4, 5, 6], z: [1, 4, 2, 5, 3, 6]}).AddVariations(
    "float16", DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=-28)
)
