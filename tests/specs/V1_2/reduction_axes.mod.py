# SPDX-License-Identifier: Apache-2.0
# Reductions along axes from either end, axes that are named twice, and all axes; with and without
# what is left of them.

import numpy as np

values = (np.arange(2 * 3 * 4) * 7 % 11 - 5.0).reshape(2, 3, 4)
signs = np.where(values < 0, -1.0, 1.0)
signs[0, 0, 0] = 2.0
REDUCE = {
    "MEAN": (values, np.mean),
    "REDUCE_MAX": (values, np.max),
    "REDUCE_MIN": (values, np.min),
    "REDUCE_PROD": (signs, np.prod),
    "REDUCE_SUM": (values, np.sum),
}
AXES = {"last": [-1], "outer": [0, -1], "twice": [1, -2, 1], "all": [0, 1, 2]}
for operation, (given, reduce) in REDUCE.items():
    for name, axes in AXES.items():
        for keep in (False, True):
            expected = np.atleast_1d(
                reduce(given, axis=tuple({axis % 3 for axis in axes}), keepdims=keep)
            )
            x = Input("x", ("TENSOR_FLOAT16", [2, 3, 4]))
            z = Output("z", ("TENSOR_FLOAT16", list(expected.shape)))
            flag = int(keep) if operation == "MEAN" else keep
            title = "{}_{}{}".format(operation.lower(), name, "_kept" if keep else "")
            Model(title).Operation(operation, x, axes, flag).To(z)
            Example({x: given.ravel().tolist(), z: expected.ravel().tolist()})

truth = values > 0
for operation, reduce in {"REDUCE_ALL": np.all, "REDUCE_ANY": np.any}.items():
    for name, axes in AXES.items():
        expected = np.atleast_1d(reduce(truth, axis=tuple({axis % 3 for axis in axes})))
        x = Input("x", ("TENSOR_BOOL8", [2, 3, 4]))
        z = Output("z", ("TENSOR_BOOL8", list(expected.shape)))
        Model(f"{operation.lower()}_{name}").Operation(operation, x, axes, False).To(z)
        Example({x: truth.ravel().tolist(), z: expected.ravel().tolist()})
