# SPDX-License-Identifier: Apache-2.0
# Parts of three scales, which are requantised; some of them saturate. Along an inner axis, with
# tails.

import numpy as np

QUANTIZATIONS = [(0.5, 128), (0.25, 0), (2.0, 200)]
parts = [np.arange(2 * n).reshape(2, n) * 17 % 256 for n in (1, 5, 17)]
real = np.concatenate(
    [(part - zero) * scale for part, (scale, zero) in zip(parts, QUANTIZATIONS, strict=True)],
    axis=1,
)
expected = np.clip(np.rint(real / 0.5) + 100, 0, 255).astype(int)
inputs = [
    Input("x", ("TENSOR_QUANT8_ASYMM", list(part.shape), *quantization))
    for part, quantization in zip(parts, QUANTIZATIONS, strict=True)
]
z = Output("z", ("TENSOR_QUANT8_ASYMM", [2, 23], 0.5, 100))
Model().Operation("CONCATENATION", *inputs, 1).To(z)
Example(
    {
        **{x: part.ravel().tolist() for x, part in zip(inputs, parts, strict=True)},
        z: expected.ravel().tolist(),
    }
)
