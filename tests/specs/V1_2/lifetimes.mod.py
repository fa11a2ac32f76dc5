# SPDX-License-Identifier: Apache-2.0
# Forms that the spec itself asks for: of one model all three, of another only the last.

x = Input("x", "TENSOR_FLOAT32", "{2}")
slope = Parameter("slope", "TENSOR_FLOAT32", "{1}", [0.25])
z = Output("z", "TENSOR_FLOAT32", "{2}")
Model("three").Operation("PRELU", x, slope).To(z)
Example({x: [-4, 4], z: [-1, 4]}).DisableLifeTimeVariation().AddVariations(
    AllTensorsAsInputsConverter(), AllInputsAsInternalCoverter(), AllOutputsAsInternalCoverter()
)

Model("last").Operation("PRELU", x, slope).To(z)
Example({x: [-8, 2], z: [-2, 2]}).DisableLifeTimeVariation().AddVariations(
    AllOutputsAsInternalCoverter(), includeDefault=False
)
