# SPDX-License-Identifier: Apache-2.0
# Symmetric bytes, with one scale and with one for each channel of an inner axis, to both floats.

import numpy as np

steps = np.array([[-127, 0, 1], [127, -1, 64]])
scales = [0.5, 2.0, 0.25]
params = SymmPerChannelQuantParams(1, scales)
for name, kind, scale in (
    ("symm", ("TENSOR_QUANT8_SYMM", [2, 3], 0.5, 0), 0.5),
    ("per_channel", ("TENSOR_QUANT8_SYMM_PER_CHANNEL", [2, 3], 0.0, 0, params), scales),
):
    x, z = Input("x", kind), Output("z", ("TENSOR_FLOAT32", [2, 3]))
    Model(name).Operation("DEQUANTIZE", x).To(z)
    expected = steps * np.array(scale)
    half = DataTypeConverter().Identify({z: ("TENSOR_FLOAT16",)})
    Example({x: steps.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations(half)
