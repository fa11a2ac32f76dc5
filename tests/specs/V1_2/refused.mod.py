# SPDX-License-Identifier: Apache-2.0
# Models that a driver has to refuse: an axis that is not there, and a convolution without a bias.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
z = Output("z", "TENSOR_FLOAT32", "{2}")
Model("axis").Operation("REDUCE_SUM", x, [2], False).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [6, 15]}).ExpectFailure().DisableLifeTimeVariation()

image = Input("image", ("TENSOR_FLOAT32", [1, 1, 1, 1]))
weights = Parameter("weights", ("TENSOR_FLOAT32", [1, 1, 1, 1]), [1])
bias = Parameter("bias", ("TENSOR_FLOAT32", [1]), None)
out = Output("out", ("TENSOR_FLOAT32", [1, 1, 1, 1]))
Model("bias").Operation("CONV_2D", image, weights, bias, 1, 1, 1, 0).To(out)
Example({image: [1], out: [1]}).DisableLifeTimeVariation().ExpectFailure()
