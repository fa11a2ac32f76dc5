# SPDX-License-Identifier: Apache-2.0
# Channels by the squares of their neighbours: with a bias of 1, an alpha of 1/4 and a beta of 1/2,
# each by the root of 1 and a quarter of the sum.

x = Input("x", ("TENSOR_FLOAT32", [1, 1, 2, 4]))
z = Output("z", ("TENSOR_FLOAT32", [1, 1, 2, 4]))
Model().Operation("LOCAL_RESPONSE_NORMALIZATION", x, 1, 1.0, 0.25, 0.5).To(z)
pixels = [[2, -2, 2, 4], [0, 1, 0, -8]]
expected = [
    pixel[at] / (1 + sum(value**2 for value in pixel[max(at - 1, 0) : at + 2]) / 4) ** 0.5
    for pixel in pixels
    for at in range(4)
]
Example({x: [*pixels[0], *pixels[1]], z: expected}).AddVariations("float16")
Example.SetVersion("V1_2", "local_response_normalization_float16")
