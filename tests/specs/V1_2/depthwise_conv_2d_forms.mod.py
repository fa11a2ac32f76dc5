# SPDX-License-Identifier: Apache-2.0
# A multiplier of 2, strides and dilations that differ, both layouts, float16 and bytes; without
# what need not be said of dilations, and of the layout.

import numpy as np

image_values = (np.arange(1 * 4 * 5 * 3) * 7 % 11 - 5.0).reshape(1, 4, 5, 3)
filter_values = (np.arange(1 * 2 * 3 * 6) * 5 % 9 - 4.0).reshape(1, 2, 3, 6)
bias_values = [1, -2, 3, -4, 5, -6]


def convolved(pads, strides, dilations):
    left, right, top, bottom = pads
    image = np.pad(image_values, ((0, 0), (top, bottom), (left, right), (0, 0)))
    reach = [dilations[0] + 1, 2 * dilations[1] + 1]
    height = (image.shape[1] - reach[0]) // strides[0] + 1
    width = (image.shape[2] - reach[1]) // strides[1] + 1
    out = np.zeros((1, height, width, 6))
    for y, x, channel in np.ndindex(height, width, 6):
        part = image[0, y * strides[0] :, x * strides[1] :, channel // 2]
        part = part[: reach[0] : dilations[0], : reach[1] : dilations[1]]
        out[0, y, x, channel] = (part * filter_values[0, :, :, channel]).sum() + bias_values[
            channel
        ]
    return out


forms = {
    "explicit": ([1, 2, 0, 1], (1, 2, 0, 1), (1, 2), (1, 1)),
    "same": ([1], (1, 1, 0, 0), (2, 1), (1, 1)),
    "valid": ([2], (0, 0, 0, 0), (1, 1), (1, 1)),
    "dilated": ([0, 0, 1, 1], (0, 0, 1, 1), (1, 1), (3, 2)),
}
for name, (padding, pads, strides, dilations) in forms.items():
    expected = convolved(pads, strides, dilations)
    image = Input("image", ("TENSOR_FLOAT32", [1, 4, 5, 3]))
    filters = Parameter("filters", ("TENSOR_FLOAT32", [1, 2, 3, 6]), filter_values.ravel().tolist())
    bias = Parameter("bias", ("TENSOR_FLOAT32", [6]), bias_values)
    layout = BoolScalar("layout", False)
    out = Output("out", ("TENSOR_FLOAT32", list(expected.shape)))
    scalars = [*padding, strides[1], strides[0], 2, 0]
    quant8 = DataTypeConverter(name="quant8").Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 100),
            filters: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            bias: ("TENSOR_INT32", 0.25, 0),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 120),
        }
    )
    # A scale for each channel of the output.
    scales = [0.5, 0.25, 1.0, 0.5, 0.25, 1.0]
    channel_quant8 = DataTypeConverter().Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 100),
            filters: (
                "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                *(0.0, 0, SymmPerChannelQuantParams(3, scales)),
            ),
            bias: (
                "TENSOR_INT32",
                *(0.0, 0, SymmPerChannelQuantParams(0, [s / 2 for s in scales], hide=True)),
            ),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 120),
        }
    )
    types = "float16", quant8, channel_quant8
    feeds = {image: image_values.ravel().tolist(), out: expected.ravel().tolist()}
    operands = [image, filters, bias, *scalars]
    full = [*operands, layout, dilations[1], dilations[0]]
    Model(name).Operation("DEPTHWISE_CONV_2D", *full).To(out)
    Example(feeds).AddNchw(image, out, layout).AddVariations(*types)
    if dilations != (1, 1):
        continue
    Model(f"{name}_layout").Operation("DEPTHWISE_CONV_2D", *operands, layout).To(out)
    Example(feeds).AddNchw(image, out, layout).AddVariations(*types)
    bare = Model(f"{name}_bare").IntroducedIn("V1_0")
    bare.Operation("DEPTHWISE_CONV_2D", *operands).To(out)
    Example(feeds).AddVariations(*types)
    for later in ("float16", "channelQuant8"):
        Example.SetVersion("V1_2", f"depthwise_conv_2d_forms_{name}_bare_{later}")
