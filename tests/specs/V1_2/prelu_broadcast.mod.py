# SPDX-License-Identifier: Apache-2.0
# The input is broadcast, not the slope; infinities; bytes of three scales that saturate.

import numpy as np

column, slopes = np.array([[-4.0], [2.0]]), np.array([[0.5, -1.0, 2.0]])
expected = np.where(column >= 0, column + 0 * slopes, column * slopes)
x, a = Input("x", "TENSOR_FLOAT32", "{2, 1}"), Input("a", "TENSOR_FLOAT32", "{1, 3}")
z = Output("z", "TENSOR_FLOAT32", "{2, 3}")
Model().Operation("PRELU", x, a).To(z)
quant8 = DataTypeConverter(name="quant8").Identify(
    {
        x: ("TENSOR_QUANT8_ASYMM", 0.25, 128),
        a: ("TENSOR_QUANT8_ASYMM", 0.5, 50),
        z: ("TENSOR_QUANT8_ASYMM", 0.5, 10),
    }
)
Example(
    {x: column.ravel().tolist(), a: slopes.ravel().tolist(), z: expected.ravel().tolist()}
).AddVariations("float16", quant8)
inf = float("inf")
x, a = Input("x", "TENSOR_FLOAT32", "{4}"), Input("a", "TENSOR_FLOAT32", "{4}")
z = Output("z", "TENSOR_FLOAT32", "{4}")
Model("infinite").Operation("PRELU", x, a).To(z)
Example({x: [inf, -inf, -inf, -1], a: [2, 2, -2, inf], z: [inf, -inf, inf, -inf]})
