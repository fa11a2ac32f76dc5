# SPDX-License-Identifier: Apache-2.0
# One tensor and three, along each axis; all types.

import numpy as np


def check(parts, axis, name):
    whole = np.stack(parts, axis)
    inputs = [Input(f"part{i}", ("TENSOR_FLOAT32", list(p.shape))) for i, p in enumerate(parts)]
    z = Output("z", ("TENSOR_FLOAT32", list(whole.shape)))
    Model(name).Operation("PACK", axis, *inputs).To(z)
    values = {each: part.ravel().tolist() for each, part in zip(inputs, parts, strict=True)}
    Example({**values, z: whole.ravel().tolist()}).AddVariations(
        "float16",
        "int32",
        DataTypeConverter("quant8", scale=0.5, zeroPoint=100),
        DataTypeConverter("quant8_signed", scale=0.5, zeroPoint=-9),
    )


parts = [np.arange(6.0).reshape(2, 3) + 10 * i for i in range(3)]
for axis in range(3):
    check(parts, axis, f"axis{axis}")
check(parts[:1], 0, "alone_first")
check(parts[:1], 2, "alone_last")
check([part[0] for part in parts], 1, "vectors")
