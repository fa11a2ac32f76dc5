# SPDX-License-Identifier: Apache-2.0
# RESHAPE of INT32, beyond what a float holds exactly.

VALUES = [2147483647, -2147483648, 16777217, 0, -1, 5]
x = Input("x", ("TENSOR_INT32", [2, 3]))
z = Output("z", ("TENSOR_INT32", [3, 1, 2]))
Model().Operation("RESHAPE", x, [3, -1, 2]).To(z)
Example({x: VALUES, z: VALUES})
