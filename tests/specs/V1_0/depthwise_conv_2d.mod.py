# SPDX-License-Identifier: Apache-2.0
# Two channels with two filters each; weights in shared memory.

Configuration.use_shm_for_weights = True
weights = Parameter("weights", ("TENSOR_FLOAT32", [1, 2, 1, 4]), [1, 2, 3, 4, -1, 0.5, 0.25, -2])
bias = Parameter("bias", ("TENSOR_FLOAT32", [4]), [0, 1, 2, 3])
Configuration.use_shm_for_weights = False

image = Input("image", ("TENSOR_FLOAT32", [1, 2, 2, 2]))
out = Output("out", ("TENSOR_FLOAT32", [1, 1, 2, 4]))
# Padding of none; strides of 1; multiplier 2; no activation.
Model().Operation("DEPTHWISE_CONV_2D", image, weights, bias, 0, 0, 0, 0, 1, 1, 2, 0).To(out)

pixels = [1, 2, 3, 4, 5, 6, 7, 8]
w = [1, 2, 3, 4, -1, 0.5, 0.25, -2]
expected = [
    pixels[column * 2 + channel // 2] * w[channel]
    + pixels[4 + column * 2 + channel // 2] * w[4 + channel]
    + channel
    for column in range(2)
    for channel in range(4)
]
Example({image: pixels, out: expected}).AddRelaxed()
