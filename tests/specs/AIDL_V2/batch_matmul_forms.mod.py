# SPDX-License-Identifier: Apache-2.0
# Each of the four transpositions, with a batch that is broadcast over the other's, at rank 2 to 4;
# integers that need all of their bits; and sums that saturate.

import numpy as np


def check(a, b, transpose_a, transpose_b, name):
    product = np.matmul(a, b)
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    x = Input("a", ("TENSOR_FLOAT32", list(a.shape)))
    y = Input("b", ("TENSOR_FLOAT32", list(b.shape)))
    z = Output("z", ("TENSOR_FLOAT32", list(product.shape)))
    Model(name).Operation("BATCH_MATMUL", x, y, transpose_a, transpose_b).To(z)
    signed = DataTypeConverter().Identify(
        {
            x: ("TENSOR_QUANT8_ASYMM_SIGNED", 0.5, 3),
            y: ("TENSOR_QUANT8_ASYMM_SIGNED", 0.25, -5),
            z: ("TENSOR_QUANT8_ASYMM_SIGNED", 0.5, 7),
        }
    )
    Example(
        {x: a.ravel().tolist(), y: b.ravel().tolist(), z: product.ravel().tolist()}
    ).AddVariations("float16", "int32", signed)


left = np.arange(2 * 3 * 4).reshape(2, 3, 4) % 5 - 2.0
right = np.arange(2 * 4 * 2).reshape(2, 4, 2) % 7 - 3.0
for transpose_a in (False, True):
    for transpose_b in (False, True):
        name = "t" if transpose_a else "n"
        name += "t" if transpose_b else "n"
        check(left, right, transpose_a, transpose_b, name)
check(left[0], right[0], False, True, "rank2")
check(left[:1], right, True, False, "one_on_the_left")
check(left.reshape(2, 1, 3, 4), right.reshape(1, 2, 4, 2), False, False, "both_broadcast")

# An integer that no float32 holds.
x = Input("a", ("TENSOR_INT32", [1, 1, 3]))
y = Input("b", ("TENSOR_INT32", [1, 3, 1]))
z = Output("z", ("TENSOR_INT32", [1, 1, 1]))
Model("exact").Operation("BATCH_MATMUL", x, y, False, False).To(z)
Example({x: [46340, 3, 1], y: [46340, 5, -16], z: [46340 * 46340 - 1]})

x = Input("a", ("TENSOR_QUANT8_ASYMM_SIGNED", [1, 2, 2], 1.0, 0))
y = Input("b", ("TENSOR_QUANT8_ASYMM_SIGNED", [1, 2, 1], 1.0, 0))
z = Output("z", ("TENSOR_QUANT8_ASYMM_SIGNED", [1, 2, 1], 1.0, 0))
Model("saturates").Operation("BATCH_MATMUL", x, y, False, False).To(z)
Example({x: [127, 127, -128, -128], y: [127, 1], z: [127, -128]})
