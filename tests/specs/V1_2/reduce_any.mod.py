# SPDX-License-Identifier: Apache-2.0
# Whether one of a column is true; results of BOOL8 are compared exactly.

x = Input("x", "TENSOR_BOOL8", "{2, 3}")
z = Output("z", "TENSOR_BOOL8", "{3}")
Model().Operation("REDUCE_ANY", x, [0], False).To(z)
Example({x: [True, False, False, True, True, False], z: [True, True, False]})
