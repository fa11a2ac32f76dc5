# SPDX-License-Identifier: Apache-2.0
# Boxes that move by parts of their extents and grow by powers of e, for two classes, and are
# clipped to the image that they are of.

import numpy as np

boxes = np.array([[8, 16, 24, 56], [0, 0, 16, 8], [30, 30, 40, 50]], float)
# x, y, width and height for each class.
deltas = [[0, 0, 0, 0, 0.5, -0.25, 0, 0], [0.25, 0.5, 0.5, -1, 0, 0, 2, 2]]
deltas = np.array([*deltas, [1, 0, 0.75, 0, -0.5, 0.125, -0.5, 0.25]])
batches, sizes = [0, 1, 0], np.array([[64, 48], [20, 40]], float)

extents = (boxes[:, 2:] - boxes[:, :2])[:, np.newaxis]
centres = (boxes[:, 2:] + boxes[:, :2])[:, np.newaxis] / 2
apart = deltas.reshape(3, 2, 4)
centres = centres + apart[:, :, :2] * extents
extents = extents * np.exp(apart[:, :, 2:])
moved = np.concatenate([centres - extents / 2, centres + extents / 2], 2)
limits = sizes[batches][:, np.newaxis, [1, 0, 1, 0]]
expected = np.clip(moved, 0, limits)

b = Input("b", ("TENSOR_FLOAT32", [3, 4]))
d = Input("d", ("TENSOR_FLOAT32", [3, 8]))
i = Input("i", ("TENSOR_FLOAT32", [2, 2]))
z = Output("z", ("TENSOR_FLOAT32", [3, 8]))
of_batch = Parameter("of_batch", "TENSOR_INT32", "{3}", batches)
Model().Operation("AXIS_ALIGNED_BBOX_TRANSFORM", b, d, of_batch, i).To(z)
coordinates = ("TENSOR_QUANT16_ASYMM", 0.125, 0)
quant8 = DataTypeConverter(name="quant8").Identify(
    {b: coordinates, d: ("TENSOR_QUANT8_ASYMM", 0.0625, 128), i: coordinates, z: coordinates}
)
given = {b: boxes, d: deltas, i: sizes, z: expected}
Example({x: values.ravel().tolist() for x, values in given.items()}).AddVariations(
    "float16", quant8
)
