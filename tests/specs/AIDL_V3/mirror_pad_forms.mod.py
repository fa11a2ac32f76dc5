# SPDX-License-Identifier: Apache-2.0
# Reflection leaves the edge out and symmetry repeats it: as much padding as either allows, none,
# and a different one on each side; rank 1 to 4, 10 and 16; all types.

import numpy as np

REFLECT, SYMMETRIC = 0, 1


def check(values, paddings, mode, name):
    padded = np.pad(values, paddings, "reflect" if mode == REFLECT else "symmetric")
    x = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
    around = Parameter(
        "paddings", ("TENSOR_INT32", [len(paddings), 2]), np.ravel(paddings).tolist()
    )
    z = Output("z", ("TENSOR_FLOAT32", list(padded.shape)))
    Model(name).Operation("MIRROR_PAD", x, around, mode).To(z)
    Example({x: values.ravel().tolist(), z: padded.ravel().tolist()}).AddVariations(
        "float16",
        "int32",
        DataTypeConverter("quant8", scale=0.5, zeroPoint=3),
        DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=3),
    )


values = np.arange(1.0, 13.0)
check(values[:3], [[2, 2]], REFLECT, "reflect_all")
check(values[:3], [[3, 3]], SYMMETRIC, "symmetric_all")
check(values[:6].reshape(2, 3), [[1, 0], [0, 2]], REFLECT, "reflect_one_side")
check(values[:6].reshape(2, 3), [[0, 2], [3, 1]], SYMMETRIC, "symmetric_sides")
check(values.reshape(1, 2, 3, 2), [[0, 0], [1, 1], [2, 0], [0, 1]], REFLECT, "reflect_rank4")
check(values.reshape(1, 2, 3, 2), [[1, 1], [0, 0], [1, 3], [2, 0]], SYMMETRIC, "symmetric_rank4")
check(values.reshape(3, 4), [[0, 0], [0, 0]], REFLECT, "nothing")
for rank in (10, 16):
    ends = [[0, 0]] * (rank - 4)
    shape = (2, 1, 3) + (1,) * (rank - 4) + (2,)
    margins = [[1, 0], [0, 0], [0, 2], *ends, [1, 1]]
    check(values.reshape(shape), margins, REFLECT, f"reflect_rank{rank}")
    check(values.reshape(shape), margins, SYMMETRIC, f"symmetric_rank{rank}")
