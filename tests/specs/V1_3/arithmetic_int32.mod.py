# SPDX-License-Identifier: Apache-2.0
# Whole numbers: sums and products that float32 can't hold, division that rounds down, and ABS.

import numpy as np

left = np.array([7, -7, 7, -7, 16777217, -2147483647, 46341])
right = np.array([2, 2, -2, -2, 3, 2, 46340])
COMPUTE = {"ADD": np.add, "DIV": np.floor_divide, "MUL": np.multiply, "SUB": np.subtract}
for operation, compute in COMPUTE.items():
    # Overflow is not defined.
    there = np.abs(compute(left, right)) < 2**31
    first, second = left[there], right[there]
    x, y = (Input(which, ("TENSOR_INT32", [len(first)])) for which in "xy")
    z = Output("z", ("TENSOR_INT32", [len(first)]))
    Model(operation.lower()).Operation(operation, x, y, 0).To(z)
    Example({x: first.tolist(), y: second.tolist(), z: compute(first, second).tolist()})

    x, y = Input("x", "TENSOR_INT32", "{2, 1}"), Input("y", "TENSOR_INT32", "{3}")
    z = Output("z", "TENSOR_INT32", "{2, 3}")
    Model(operation.lower() + "_broadcast").Operation(operation, x, y, 0).To(z)
    expected = compute([[100], [-9]], [1, 4, -5])
    Example({x: [100, -9], y: [1, 4, -5], z: expected.ravel().tolist()})

x, z = Input("x", "TENSOR_INT32", "{4}"), Output("z", "TENSOR_INT32", "{4}")
Model("abs").Operation("ABS", x).To(z)
Example({x: [-2147483647, 2147483647, 0, -16777217], z: [2147483647, 2147483647, 0, 16777217]})
