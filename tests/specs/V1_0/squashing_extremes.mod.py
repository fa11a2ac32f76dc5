# SPDX-License-Identifier: Apache-2.0
# LOGISTIC and TANH where they are flat, and all bytes of the first.

import numpy as np

inf = float("inf")
given = [inf, -inf, 100.0, -100.0, 0.0, 20.0]
x, z = Input("x", "TENSOR_FLOAT32", "{6}"), Output("z", "TENSOR_FLOAT32", "{6}")
Model("logistic").Operation("LOGISTIC", x).To(z)
Example({x: given, z: [1, 0, 1, 0, 0.5, 1]})
Model("tanh").Operation("TANH", x).To(z)
Example({x: given, z: [1, -1, 1, -1, 0, 1]})

steps = np.arange(256)
for name, scale, zero in (("fine", 0.05, 128), ("coarse", 1.0, 0)):
    x = Input("x", ("TENSOR_QUANT8_ASYMM", [2, 128], scale, zero))
    z = Output("z", ("TENSOR_QUANT8_ASYMM", [2, 128], 1 / 256, 0))
    Model("logistic_" + name).Operation("LOGISTIC", x).To(z)
    real = (steps - zero) * float(np.float32(scale))
    result = np.clip(np.rint(256 / (1 + np.exp(-real))), 0, 255)
    Example({x: steps.tolist(), z: result.astype(int).tolist()})
