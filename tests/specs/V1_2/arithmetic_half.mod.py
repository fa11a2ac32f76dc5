# SPDX-License-Identifier: Apache-2.0
# ADD, DIV, MUL and SUB of float16: operands of which each is broadcast, each activation,
# infinities, and results beyond the largest float16.

import numpy as np

COMPUTE = {"ADD": np.add, "DIV": np.divide, "MUL": np.multiply, "SUB": np.subtract}
column, row = np.array([[-3.0], [0.5], [8.0]]), np.array([[0.25, -2.0, 1.0]])
inf = float("inf")
SPECIAL = {
    "ADD": ([60000, inf, -inf, 1], [60000, 1, 1, -1], [inf, inf, -inf, 0]),
    "DIV": ([1, -1, 60000, 1], [0, 0, 0.25, inf], [inf, -inf, inf, 0]),
    "MUL": ([60000, inf, -inf, -0.5], [-2, 2, 2, 0.25], [-inf, inf, -inf, -0.125]),
    "SUB": ([60000, inf, 1, 1], [-60000, 1, inf, 1], [inf, inf, -inf, 0]),
}
for operation, compute in COMPUTE.items():
    expected = compute(column, row)
    x, y = Input("x", ("TENSOR_FLOAT16", [3, 1])), Input("y", ("TENSOR_FLOAT16", [1, 3]))
    act = Int32Scalar("act", 0)
    z = Output("z", ("TENSOR_FLOAT16", [3, 3]))
    Model(operation.lower()).Operation(operation, x, y, act).To(z)
    Example(
        {x: column.ravel().tolist(), y: row.ravel().tolist(), z: expected.ravel().tolist()}
    ).AddAllActivations(z, act)

    left, right, result = SPECIAL[operation]
    x, y = (Input(which, ("TENSOR_FLOAT16", [4])) for which in "xy")
    z = Output("z", ("TENSOR_FLOAT16", [4]))
    Model(operation.lower() + "_special").Operation(operation, x, y, 0).To(z)
    Example({x: left, y: right, z: result})
