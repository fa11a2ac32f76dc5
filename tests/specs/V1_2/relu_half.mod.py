# SPDX-License-Identifier: Apache-2.0
# The bounds of RELU, RELU1 and RELU6 in float16, and infinities beyond them.

inf = float("inf")
given = [-inf, -6.0, -1.0, -0.25, 0.0, 0.25, 1.0, 3.0, 6.0, 6.5, inf]
for operation, low, high in (("RELU", 0, inf), ("RELU1", -1, 1), ("RELU6", 0, 6)):
    x, z = Input("x", ("TENSOR_FLOAT16", [11])), Output("z", ("TENSOR_FLOAT16", [11]))
    Model(operation.lower()).Operation(operation, x).To(z)
    Example({x: given, z: [min(max(value, low), high) for value in given]})
