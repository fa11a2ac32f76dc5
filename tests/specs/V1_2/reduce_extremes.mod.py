# SPDX-License-Identifier: Apache-2.0
# REDUCE_MAX, REDUCE_MIN and REDUCE_PROD of numbers, the first two of bytes as well.

import numpy as np

values = np.array([[2, -3, 0.5], [4, 1, -2]])
REDUCE = {"REDUCE_MAX": np.max, "REDUCE_MIN": np.min, "REDUCE_PROD": np.prod}
for operation, reduce in REDUCE.items():
    for axis in (0, -1):
        expected = reduce(values, axis=axis)
        x = Input("x", ("TENSOR_FLOAT32", [2, 3]))
        z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
        Model(f"{operation[7:].lower()}_{axis % 2}").Operation(operation, x, [axis], False).To(z)
        example = Example({x: values.ravel().tolist(), z: expected.tolist()})
        if operation != "REDUCE_PROD":
            example.AddVariations(DataTypeConverter("quant8", scale=0.5, zeroPoint=100))
