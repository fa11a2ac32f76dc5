# SPDX-License-Identifier: Apache-2.0
# LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT: all pairs, and a row against a column.

import numpy as np

BINARY = {"LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or}
column, row = np.array([[False], [True]]), np.array([False, True])
for operation, function in BINARY.items():
    a, b = Input("a", ("TENSOR_BOOL8", [2, 1])), Input("b", ("TENSOR_BOOL8", [2]))
    z = Output("z", ("TENSOR_BOOL8", [2, 2]))
    Model(operation.removeprefix("LOGICAL_").lower()).Operation(operation, a, b).To(z)
    truth = function(column, row).ravel().tolist()
    Example({a: column.ravel().tolist(), b: row.tolist(), z: truth})

x, z = Input("x", ("TENSOR_BOOL8", [2])), Output("z", ("TENSOR_BOOL8", [2]))
Model("not").Operation("LOGICAL_NOT", x).To(z)
Example({x: [False, True], z: [True, False]})
