# SPDX-License-Identifier: Apache-2.0
# An operation on an intermediate result: x - y - y.

x = Input("x", "TENSOR_FLOAT32", "{2, 2}")
y = Input("y", "TENSOR_FLOAT32", "{1, 2}")
between = Internal("between", "TENSOR_FLOAT32", "{2, 2}")
z = Output("z", "TENSOR_FLOAT32", "{2, 2}")
model = Model()
# Said backwards, and with the inputs the other way round: both are put in order.
model.IdentifyInputs(y, x).IdentifyOutputs(z)
model.Operation("SUB", between, y, 0).To(z)
model.Operation("SUB", x, y, 0).To(between)
Example({x: [1, 2, 3, 4], y: [0.5, 10], z: [0, -18, 2, -16]}).AddVariations("float16", "relaxed")
# FLOAT16 came with 1.2.
Example.SetVersion("V1_2", "sub_float16")
