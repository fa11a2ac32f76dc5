# SPDX-License-Identifier: Apache-2.0
# Where it is true, the one; where it is false, the other.

choice = Input("choice", "TENSOR_BOOL8", "{4}")
yes = Input("yes", "TENSOR_FLOAT32", "{4}").ShouldNeverBeInternal()
no = Input("no", "TENSOR_FLOAT32", "{4}")
z = Output("z", "TENSOR_FLOAT32", "{4}")
Model().Operation("SELECT", choice, yes, no).To(z)
Example(
    {choice: [True, False, False, True], yes: [1, 2, 3, 4], no: [-1, -2, -3, -4], z: [1, -2, -3, 4]}
).AddVariations("relaxed", "int32")
