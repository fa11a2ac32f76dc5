# SPDX-License-Identifier: Apache-2.0
# The largest of each bin: of a region that is cut evenly, of one whose bins overlap, and of one
# that reaches beyond the feature map, where there is nothing.

import numpy as np

features = (np.arange(32) * 11 % 19 - 9.0).reshape(2, 4, 4, 1)
features = np.concatenate([features, -features], 3)
# In an image twice as large: all of it; rows 2 and 3, columns 1 to 3; columns 3 and 4 of one row.
regions, batches = [[0, 0, 6, 6], [2, 4, 6, 6], [6, 0, 8, 0]], [0, 1, 1]
BINS = [
    [((0, 2), (0, 2)), ((0, 2), (2, 4)), ((2, 4), (0, 2)), ((2, 4), (2, 4))],
    [((2, 3), (1, 3)), ((2, 3), (2, 4)), ((3, 4), (1, 3)), ((3, 4), (2, 4))],
    [((0, 1), (3, 4)), None, ((0, 1), (3, 4)), None],
]
expected = np.array(
    [
        features[batch, slice(*rows_and_columns[0]), slice(*rows_and_columns[1])].max(axis=(0, 1))
        if rows_and_columns
        else [0, 0]
        for batch, bins in zip(batches, BINS, strict=True)
        for rows_and_columns in bins
    ]
)

x = Input("x", ("TENSOR_FLOAT32", [2, 4, 4, 2]))
r = Input("r", ("TENSOR_FLOAT32", [3, 4]))
z = Output("z", ("TENSOR_FLOAT32", [3, 2, 2, 2]))
of_batch = Parameter("of_batch", "TENSOR_INT32", "{3}", batches)
layout = BoolScalar("layout", False)
Model().Operation("ROI_POOLING", x, r, of_batch, 2, 2, 2.0, 2.0, layout).To(z)
bytes_of_it = ("TENSOR_QUANT8_ASYMM", 0.25, 128)
quant8 = DataTypeConverter(name="quant8").Identify(
    {x: bytes_of_it, r: ("TENSOR_QUANT16_ASYMM", 0.125, 0), z: bytes_of_it}
)
Example(
    {x: features.ravel().tolist(), r: np.ravel(regions).tolist(), z: expected.ravel().tolist()}
).AddNchw(x, z, layout).AddVariations("float16", quant8)
