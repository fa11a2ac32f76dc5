# SPDX-License-Identifier: Apache-2.0
# Three groups of two channels become two of three, along each axis.

import numpy as np

steps = np.arange(12).reshape(2, 6) - 5.0
shuffled = steps[:, [0, 2, 4, 1, 3, 5]]
axis = Int32Scalar("axis", -1)
x, z = Input("x", ("TENSOR_FLOAT32", [2, 6])), Output("z", ("TENSOR_FLOAT32", [2, 6]))
Model().Operation("CHANNEL_SHUFFLE", x, 3, axis).To(z)
Example({x: steps.ravel().tolist(), z: shuffled.ravel().tolist()}).AddVariations(
    "float16", DataTypeConverter("quant8", scale=0.5, zeroPoint=90)
).AddAllDimsAndAxis(x, z, axis)
