# SPDX-License-Identifier: Apache-2.0
# Each axis of ranks 1 to 4, an axis of one element, and an axis that only the request tells; all
# types.

import numpy as np


def check(values, axis, name, at_run_time=False):
    turned = np.flip(values, axis)
    x = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
    z = Output("z", ("TENSOR_FLOAT32", list(values.shape)))
    feed = {x: values.ravel().tolist(), z: turned.ravel().tolist()}
    if at_run_time:
        along = Input("axis", ("TENSOR_INT32", [1]))
        feed[along] = [axis]
    else:
        along = Parameter("axis", ("TENSOR_INT32", [1]), [axis])
    Model(name).Operation("REVERSE", x, along).To(z)
    Example(feed).AddVariations(
        "float16",
        "int32",
        DataTypeConverter("quant8", scale=0.5, zeroPoint=100),
        DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=-9),
    )


values = np.arange(1.0, 25.0)
check(values[:5], 0, "rank1")
for axis in range(4):
    check(values.reshape(2, 1, 3, 4), axis, f"rank4_axis{axis}")
check(values.reshape(4, 6), 1, "told_late", at_run_time=True)
