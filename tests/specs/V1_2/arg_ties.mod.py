# SPDX-License-Identifier: Apache-2.0
# ARGMAX and ARGMIN: the first of equals, along each axis, counted from either end, in every type.

import numpy as np

values = np.array([2, 5, 5, 1, 1, 2, 5, 2, 2, 1, 7, 7]).reshape(2, 3, 2)
FIND = {"ARGMAX": np.argmax, "ARGMIN": np.argmin}
for operation, find in FIND.items():
    for axis in (-3, -1, 1):
        expected = find(values, axis=axis)
        x = Input("x", ("TENSOR_FLOAT32", [2, 3, 2]))
        z = Output("z", ("TENSOR_INT32", list(expected.shape)))
        name = f"{operation.lower()}_{'minus' if axis < 0 else ''}{abs(axis)}"
        Model(name).Operation(operation, x, axis).To(z)
        Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations(
            "float16", "int32", DataTypeConverter("quant8", scale=1.0, zeroPoint=3)
        )
    # Of one dimension nothing is left: [1].
    x = Input("x", "TENSOR_FLOAT32", "{4}")
    z = Output("z", "TENSOR_INT32", "{1}")
    Model(operation.lower() + "_of_a_vector").Operation(operation, x, 0).To(z)
    Example({x: [0, float("-inf"), float("inf"), 1], z: [2 if operation == "ARGMAX" else 1]})
