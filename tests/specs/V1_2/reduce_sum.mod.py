# SPDX-License-Identifier: Apache-2.0
# Over one axis, that is kept or goes.

x = Input("x", "TENSOR_FLOAT32", "{2, 3}")
axes = Parameter("axes", "TENSOR_INT32", "{1}", [-1])
for name, keep, shape in (("drop", False, "{2}"), ("keep", True, "{2, 1}")):
    z = Output("z", "TENSOR_FLOAT32", shape)
    Model(name).Operation("REDUCE_SUM", x, axes, keep).To(z)
    Example({x: [1, 2, 3, -4, 5, -6], z: [6, -5]}).AddVariations("relaxed", "float16")
