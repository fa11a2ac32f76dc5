# SPDX-License-Identifier: Apache-2.0
# Blocks that are higher than wide, in both layouts and all types of 1.2; padding that is one-sided,
# which is zero in a quantised tensor, too. Without the layout, as 1.0 and 1.1 have them.

import numpy as np


def check(since, operation, values, expected, *arguments):
    layout = BoolScalar("layout", False)
    x = Input("x", ("TENSOR_FLOAT32", list(values.shape)))
    z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
    title = operation.lower()
    feeds = {x: values.ravel().tolist(), z: expected.ravel().tolist()}
    types = "float16", DataTypeConverter("quant8", scale=0.5, zeroPoint=33)
    Model(title).Operation(operation, x, *arguments, layout).To(z)
    Example(feeds).AddNchw(x, z, layout).AddVariations(*types)
    Model(f"{title}_bare").IntroducedIn(since).Operation(operation, x, *arguments).To(z)
    # Before 1.2, padding is 0 where zero is.
    Example(feeds).AddVariations("float16", DataTypeConverter("quant8", scale=0.5, zeroPoint=0))
    Example.SetVersion("V1_2", f"block_forms_{title}_bare_float16")


values = np.arange(2 * 2 * 3 * 2).reshape(2, 2, 3, 2) - 7.0

# [2, 3] blocks of six images of 1 x 1; and of one that is padded above and to the right.
batches = np.arange(12 * 1 * 2 * 1).reshape(12, 1, 2, 1) - 7.0
spread = np.zeros((2, 2, 6, 1))
for batch, row, column in np.ndindex(2, 2, 3):
    spread[batch, row, column::3] = batches[(row * 3 + column) * 2 + batch, 0]
check("V1_1", "BATCH_TO_SPACE_ND", batches, spread, [2, 3])

padded = np.pad(values, ((0, 0), (2, 0), (0, 3), (0, 0)))
gathered = np.zeros((12, 2, 2, 2))
for row, column, batch in np.ndindex(2, 3, 2):
    gathered[(row * 3 + column) * 2 + batch] = padded[batch, row::2, column::3]
check(
    *("V1_1", "SPACE_TO_BATCH_ND"),
    values,
    gathered,
    [2, 3],
    Parameter("paddings", "TENSOR_INT32", "{2, 2}", [2, 0, 0, 3]),
)

deep = np.arange(1 * 2 * 1 * 18).reshape(1, 2, 1, 18) - 7.0
wide = np.zeros((1, 6, 3, 2))
for y, row, column in np.ndindex(2, 3, 3):
    first = (row * 3 + column) * 2
    wide[0, y * 3 + row, column] = deep[0, y, 0, first : first + 2]
check("V1_0", "DEPTH_TO_SPACE", deep, wide, 3)
check("V1_0", "SPACE_TO_DEPTH", wide, deep, 3)
