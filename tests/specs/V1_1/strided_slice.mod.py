# SPDX-License-Identifier: Apache-2.0
# Backwards along one axis, with masks along the other.

x = Input("x", "TENSOR_FLOAT32", "{2, 4}")
begins = Parameter("begins", "TENSOR_INT32", "{2}", [0, -1])
ends = Parameter("ends", "TENSOR_INT32", "{2}", [1, 0])
strides = Parameter("strides", "TENSOR_INT32", "{2}", [1, -2])
z = Output("z", "TENSOR_FLOAT32", "{2, 2}")
# The end of axis 0 does not count.
Model().Operation("STRIDED_SLICE", x, begins, ends, strides, 0, 1, 0).To(z)
Example({x: [1, 2, 3, 4, 5, 6, 7, 8], z: [4, 2, 8, 6]}).AddVariations("relaxed")
