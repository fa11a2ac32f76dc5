# SPDX-License-Identifier: Apache-2.0
# Rows of halves, one of them twice.

lookups = Parameter("lookups", "TENSOR_INT32", "{3}", [2, 0, 2])
x = Input("x", ("TENSOR_FLOAT16", [3, 2]))
z = Output("z", ("TENSOR_FLOAT16", [3, 2]))
Model().Operation("EMBEDDING_LOOKUP", lookups, x).To(z)
Example({x: [0.5, -1, 2, 3, 65504, 6e-8], z: [65504, 6e-8, 0.5, -1, 65504, 6e-8]})
