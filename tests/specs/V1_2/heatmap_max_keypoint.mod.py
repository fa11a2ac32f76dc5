# SPDX-License-Identifier: Apache-2.0
# A peak that is even on both sides stays in the middle of its element. One whose right side is
# higher than its left one, 2 and 0 beside 4, moves by a sixth of an element to the right, and is a
# twelfth higher there.

import numpy as np

heat = np.zeros((2, 5, 5, 2))
heat[0, 1, 3, 0] = 2  # alone
heat[1, 3, 1, 0] = 1
heat[:, 2, 2, 1], heat[:, 2, 3, 1], heat[:, 1, 2, 1], heat[:, 3, 2, 1] = 4, 2, 2, 2
boxes = np.array([[10, 20, 20, 40], [0, 0, 5, 10]])
# As rows and columns of elements; and the scores.
places = np.array([[[3.5, 1.5], [2.5 + 1 / 6, 2.5]], [[1.5, 3.5], [2.5 + 1 / 6, 2.5]]])
scores = [2, 4 + 1 / 12, 1, 4 + 1 / 12]
extents = boxes[:, 2:] - boxes[:, :2]
points = boxes[:, np.newaxis, :2] + places * extents[:, np.newaxis] / 5

x = Input("x", ("TENSOR_FLOAT32", [2, 5, 5, 2]))
b = Input("b", ("TENSOR_FLOAT32", [2, 4]))
layout = BoolScalar("layout", False)
s = Output("s", ("TENSOR_FLOAT32", [2, 2]))
p = Output("p", ("TENSOR_FLOAT32", [2, 2, 2]))
Model().Operation("HEATMAP_MAX_KEYPOINT", x, b, layout).To(s, p)
coordinates = ("TENSOR_QUANT16_ASYMM", 0.125, 0)
quant8 = DataTypeConverter(name="quant8").Identify(
    {
        x: ("TENSOR_QUANT8_ASYMM", 0.0625, 128),
        b: coordinates,
        s: ("TENSOR_QUANT8_ASYMM", 0.0625, 100),
        p: coordinates,
    }
)
Example(
    {
        x: heat.ravel().tolist(),
        b: boxes.ravel().tolist(),
        s: scores,
        p: points.ravel().tolist(),
    }
).AddNchw(x, layout).AddVariations("float16", quant8)
