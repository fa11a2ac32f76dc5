# SPDX-License-Identifier: Apache-2.0
# MAXIMUM and MINIMUM: infinities, whole numbers at their ends, bytes of three scales, both operands
# broadcast.

import numpy as np

EXTREMUM = {"MAXIMUM": np.maximum, "MINIMUM": np.minimum}
inf = float("inf")
column, row = np.array([[-3.0], [0.5], [2.0]]), np.array([[1.5, -4.0]])
for operation, extremum in EXTREMUM.items():
    name = operation.lower()
    expected = extremum(column, row)
    x, y = Input("x", ("TENSOR_FLOAT32", [3, 1])), Input("y", ("TENSOR_FLOAT32", [1, 2]))
    z = Output("z", ("TENSOR_FLOAT32", [3, 2]))
    Model(name + "_broadcast").Operation(operation, x, y).To(z)
    quant8 = DataTypeConverter(name="quant8").Identify(
        {
            x: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            y: ("TENSOR_QUANT8_ASYMM", 0.25, 200),
            z: ("TENSOR_QUANT8_ASYMM", 0.125, 20),
        }
    )
    Example(
        {x: column.ravel().tolist(), y: row.ravel().tolist(), z: expected.ravel().tolist()}
    ).AddVariations("float16", quant8)

    x, y = (Input(which, ("TENSOR_FLOAT32", [3])) for which in "xy")
    z = Output("z", ("TENSOR_FLOAT32", [3]))
    Model(name + "_infinite").Operation(operation, x, y).To(z)
    Example(
        {x: [inf, -inf, 1], y: [1, 2, -inf], z: extremum([inf, -inf, 1], [1, 2, -inf]).tolist()}
    )

    x, y = (Input(which, ("TENSOR_INT32", [3])) for which in "xy")
    z = Output("z", ("TENSOR_INT32", [3]))
    ends = [-(2**31), 2**31 - 1, 16777217], [2**31 - 1, 0, 16777216]
    Model(name + "_int32").Operation(operation, x, y).To(z)
    Example({x: ends[0], y: ends[1], z: extremum(*ends).tolist()})
