# SPDX-License-Identifier: Apache-2.0
# Two and three groups, both paddings and layouts, in the types of 1.2.

import numpy as np

image_values = (np.arange(2 * 3 * 4 * 6) * 7 % 11 - 5.0).reshape(2, 3, 4, 6)


def convolved(filters, bias, groups, pads, strides):
    left, right, top, bottom = pads
    image = np.pad(image_values, ((0, 0), (top, bottom), (left, right), (0, 0)))
    channels, high, wide, deep = filters.shape
    height = (image.shape[1] - high) // strides[0] + 1
    width = (image.shape[2] - wide) // strides[1] + 1
    out = np.zeros((2, height, width, channels))
    for y, x, channel in np.ndindex(height, width, channels):
        first = channel // (channels // groups) * deep
        part = image[:, y * strides[0] :, x * strides[1] :, first : first + deep][:, :high, :wide]
        out[:, y, x, channel] = (part * filters[channel]).sum(axis=(1, 2, 3)) + bias[channel]
    return out


forms = {
    "two_explicit": (2, [0, 1, 1, 0], (0, 1, 1, 0), (1, 2)),
    "three_same": (3, [1], (0, 1, 0, 1), (1, 1)),
    "one_valid": (1, [2], (0, 0, 0, 0), (2, 1)),
}
for name, (groups, padding, pads, strides) in forms.items():
    shape = (6, 2, 2, 6 // groups)
    filter_values = (np.arange(np.prod(shape)) * 5 % 9 - 4.0).reshape(shape)
    bias_values = [4, -3, 2, -1, 0, 1]
    expected = convolved(filter_values, bias_values, groups, pads, strides)
    image = Input("image", ("TENSOR_FLOAT32", [2, 3, 4, 6]))
    filters = Parameter("filters", ("TENSOR_FLOAT32", list(shape)), filter_values.ravel().tolist())
    bias = Parameter("bias", ("TENSOR_FLOAT32", [6]), bias_values)
    layout, act = BoolScalar("layout", False), Int32Scalar("act", 0)
    out = Output("out", ("TENSOR_FLOAT32", list(expected.shape)))
    scalars = [*padding, strides[1], strides[0], groups, act, layout]
    Model(name).Operation("GROUPED_CONV_2D", image, filters, bias, *scalars).To(out)
    quant8 = DataTypeConverter(name="quant8").Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            filters: ("TENSOR_QUANT8_ASYMM", 0.25, 100),
            bias: ("TENSOR_INT32", 0.125, 0),
            out: ("TENSOR_QUANT8_ASYMM", 1.0, 130),
        }
    )
    channels = DataTypeConverter(name="channelQuant8").Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            filters: (
                "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                0,
                0,
                SymmPerChannelQuantParams(0, [0.25, 0.5, 0.125, 1, 0.25, 0.0625]),
            ),
            bias: (
                "TENSOR_INT32",
                0.0,
                0,
                SymmPerChannelQuantParams(0, [0.125, 0.25, 0.0625, 0.5, 0.125, 0.03125], hide=True),
            ),
            out: ("TENSOR_QUANT8_ASYMM", 1.0, 130),
        }
    )
    Example({image: image_values.ravel().tolist(), out: expected.ravel().tolist()}).AddNchw(
        image, out, layout
    ).AddAllActivations(out, act).AddVariations("float16", quant8, channels)
