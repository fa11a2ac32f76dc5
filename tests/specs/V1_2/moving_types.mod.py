# SPDX-License-Identifier: Apache-2.0
# Operations that only move elements, in types that no golden case has: float16 of RESHAPE, SQUEEZE
# and TRANSPOSE, whole numbers of TILE; the optional operands of the last two left out.

import numpy as np

values = np.arange(6.0) - 2
inf = float("inf")


def check(name, operation, shape, given, expected, *arguments, kind="TENSOR_FLOAT16"):
    x = Input("x", (kind, shape))
    z = Output("z", (kind, list(expected.shape)))
    Model(name).Operation(operation, x, *arguments).To(z)
    Example({x: given, z: expected.ravel().tolist()})


given = [0.0, -0.5, inf, -inf, 65504.0, 6e-8]
check("reshape", "RESHAPE", [2, 3], given, np.array(given).reshape(3, 1, 2), [3, -1, 2])
check("squeeze", "SQUEEZE", [1, 2, 1, 3], given, np.array(given).reshape(2, 3), [-2, 0])
nothing = Parameter("nothing", "TENSOR_INT32", "{0}", None)
check("squeeze_all", "SQUEEZE", [1, 2, 1, 3], given, np.array(given).reshape(2, 3), nothing)
reversed_axes = np.array(given).reshape(1, 2, 3).T
check("transpose", "TRANSPOSE", [1, 2, 3], given, reversed_axes, [2, 1, 0])
nothing = Parameter("nothing", "TENSOR_INT32", "{0}", None)
check("transpose_all", "TRANSPOSE", [1, 2, 3], given, reversed_axes, nothing)
ends = [-(2**31), 2**31 - 1, 16777217, 0, 1, -1]
tiled = np.tile(np.array(ends).reshape(1, 2, 3), (2, 1, 3))
check("tile", "TILE", [1, 2, 3], ends, tiled, [2, 1, 3], kind="TENSOR_INT32")
