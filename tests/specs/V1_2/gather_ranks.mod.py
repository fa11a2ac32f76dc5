# SPDX-License-Identifier: Apache-2.0
# Indices of rank 1 to 3 along each axis, of what goes back and forth, in every type.

import numpy as np

values = np.arange(2 * 3 * 2).reshape(2, 3, 2)
for name, indices in {
    "one": np.array([1]),
    "matrix": np.array([[1, 0], [0, 0], [1, 1]]),
    "cube": np.array([[[1, 0]], [[0, 1]]]),
}.items():
    for axis in (0, -2, -1):
        expected = np.take(values, indices, axis)
        x = Input("x", ("TENSOR_FLOAT32", [2, 3, 2]))
        places = Parameter("i", ("TENSOR_INT32", list(indices.shape)), indices.ravel().tolist())
        z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
        Model(f"{name}_{axis % 3}").Operation("GATHER", x, axis, places).To(z)
        Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations(
            "float16", "int32", DataTypeConverter("quant8", scale=0.5, zeroPoint=1)
        )
