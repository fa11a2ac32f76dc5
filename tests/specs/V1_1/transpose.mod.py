# SPDX-License-Identifier: Apache-2.0
# Relaxed from the start, which leaves the version open; and the permutation as an input.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{3, 2}")
order = Parameter("order", "TENSOR_INT32", "{2}", [1, 0])
Model().RelaxedExecution(True).Operation("TRANSPOSE", x, order).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [1, 4, 2, 5, 3, 6]}).AddVariations(
    RelaxedModeConverter(False), defaultName="relaxed"
)
