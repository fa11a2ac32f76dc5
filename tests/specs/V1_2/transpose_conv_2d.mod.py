# SPDX-License-Identifier: Apache-2.0
# One value spread by a filter; the half and the activation as scalars of their own type.

x = Input("x", ("TENSOR_FLOAT32", [1, 1, 2, 1]))
weights = Parameter("weights", ("TENSOR_FLOAT32", [1, 2, 2, 1]), [1, 2, 3, 4])
bias = Parameter("bias", ("TENSOR_FLOAT32", [1]), [0.5])
act = Int32Scalar("act", 0)
layout = BoolScalar("layout", False)
z = Output("z", ("TENSOR_FLOAT32", [1, 2, 4, 1]))
model = Model()
model.Operation("TRANSPOSE_CONV_2D", x, weights, bias, 0, 0, 0, 0, 2, 2, act, layout).To(z)
Example({x: [1, -2], z: [1.5, 2.5, -1.5, -3.5, 3.5, 4.5, -5.5, -7.5]}).AddNchw(
    x, z, layout
).AddAllActivations(z, act)
