# SPDX-License-Identifier: Apache-2.0
# STRIDED_SLICE of signed bytes: backwards, beyond the tensor, with each of the masks.

import numpy as np

values = np.arange(3 * 4 * 5).reshape(3, 4, 5) - 20.0
# begins, ends, strides, begin mask, end mask, shrink mask, and the same in Python
SLICES = {
    "backwards": ([2, -1, 4], [-4, 0, 0], [-1, -2, -3], 0, 0, 0, np.s_[2::-1, -1:0:-2, 4:0:-3]),
    "beyond": ([-9, 1, 0], [9, 9, -1], [1, 2, 1], 0, 0, 0, np.s_[:, 1::2, :-1]),
    "masked": ([1, 2, 9], [1, 0, -9], [1, 1, -1], 0b101, 0b011, 0, np.s_[:, 2:, ::-1]),
    "shrunk": ([1, -2, 0], [2, -1, 5], [1, 1, 2], 0, 0, 0b010, np.s_[1:2, -2, ::2]),
    "shrunk_to_one": ([0, 3, -1], [1, 4, 5], [1, 1, 1], 0, 0, 0b111, np.s_[0, 3, -1]),
    "shrunk_beyond": ([-9, 3, 1], [1, 9, 9], [1, 1, 4], 0, 0, 0b111, np.s_[0, 3, 1]),
    "shrunk_masked": ([2, 3, 0], [1, 9, 5], [1, 1, 1], 0b001, 0b010, 0b011, np.s_[0, 3]),
}
for name, (begins, ends, strides, begin_mask, end_mask, shrink_mask, parts) in SLICES.items():
    expected = np.atleast_1d(values[parts])
    x = Input("x", ("TENSOR_QUANT8_ASYMM_SIGNED", [3, 4, 5], 0.5, -20))
    z = Output("z", ("TENSOR_QUANT8_ASYMM_SIGNED", list(expected.shape), 0.5, -20))
    vectors = [Parameter("v", "TENSOR_INT32", "{3}", v) for v in (begins, ends, strides)]
    Model(name).Operation("STRIDED_SLICE", x, *vectors, begin_mask, end_mask, shrink_mask).To(z)
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()})
