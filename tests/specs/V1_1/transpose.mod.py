# SPDX-License-Identifier: Apache-2.0
# Relaxed from the start, which leaves the version open; and the permutation as an input. Bytes.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{3, 2}")
order = Parameter("order", "TENSOR_INT32", "{2}", [1, 0])
Model().RelaxedExecution(True).Operation("TRANSPOSE", x, order).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [1, 4, 2, 5, 3, 6]}).AddVariations(
    RelaxedModeConverter(False), defaultName="relaxed"
)

b = Input("b", "TENSOR_QUANT8_ASYMM", "{2, 1, 3}, 0.5f, 7")
t = Output("t", "TENSOR_QUANT8_ASYMM", "{3, 2, 1}, 0.5f, 7")
Model("bytes").Operation("TRANSPOSE", b, Parameter("p", "TENSOR_INT32", "{3}", [2, 0, 1])).To(t)
Example({b: [0, 1, 2, 253, 254, 255], t: [0, 253, 1, 254, 2, 255]})
