# SPDX-License-Identifier: Apache-2.0
# MEAN along axes from either end, axes that are named twice, and all axes.

import numpy as np

values = (np.arange(2 * 3 * 4) * 7 % 11 - 5.0).reshape(2, 3, 4)
for name, axes in {"last": [-1], "outer": [0, -1], "twice": [1, -2, 1], "all": [2, 0, 1]}.items():
    for keep in (0, 1):
        expected = np.atleast_1d(
            np.mean(values, axis=tuple({axis % 3 for axis in axes}), keepdims=bool(keep))
        )
        x = Input("x", ("TENSOR_FLOAT32", [2, 3, 4]))
        z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
        Model(name + "_kept" * keep).Operation("MEAN", x, axes, keep).To(z)
        Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations(
            DataTypeConverter("quant8", scale=0.25, zeroPoint=50)
        )
