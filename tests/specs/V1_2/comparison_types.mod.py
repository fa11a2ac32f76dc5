# SPDX-License-Identifier: Apache-2.0
# Comparisons: NaN is not equal, less or greater; infinities; bytes of different scales are compared
# as the numbers they stand for; operands of which each is broadcast.

import numpy as np

COMPARE = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
}
nan, inf = float("nan"), float("inf")
left = np.array([nan, nan, 0.0, inf, -inf, 1.0])
right = np.array([nan, 1.0, -0.0, inf, inf, 1.0])
column, row = np.array([[1], [2], [3]]), np.array([[1, 2, 4]])
for operation, compare in COMPARE.items():
    name = operation.lower()
    x, y = (Input(which, ("TENSOR_FLOAT32", [6])) for which in "xy")
    z = Output("z", ("TENSOR_BOOL8", [6]))
    Model(name + "_special").Operation(operation, x, y).To(z)
    Example({x: left.tolist(), y: right.tolist(), z: compare(left, right).tolist()}).AddVariations(
        "float16"
    )

    x, y = Input("x", ("TENSOR_FLOAT32", [3, 1])), Input("y", ("TENSOR_FLOAT32", [1, 3]))
    z = Output("z", ("TENSOR_BOOL8", [3, 3]))
    Model(name + "_broadcast").Operation(operation, x, y).To(z)
    quant8 = DataTypeConverter(name="quant8").Identify(
        {x: ("TENSOR_QUANT8_ASYMM", 0.5, 128), y: ("TENSOR_QUANT8_ASYMM", 0.25, 3)}
    )
    Example(
        {
            x: column.ravel().tolist(),
            y: row.ravel().tolist(),
            z: compare(column, row).ravel().tolist(),
        }
    ).AddVariations("float16", "int32", quant8)

    x, y = (Input(which, ("TENSOR_BOOL8", [4])) for which in "xy")
    z = Output("z", ("TENSOR_BOOL8", [4]))
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    Model(name + "_bool").Operation(operation, x, y).To(z)
    Example(
        {
            x: first.astype(bool).tolist(),
            y: second.astype(bool).tolist(),
            z: compare(first, second).tolist(),
        }
    )
