# SPDX-License-Identifier: Apache-2.0
# Both paddings, strides and dilations that differ between width and height, both layouts, in every
# type; images whose extents are no multiple of anything. What need not be said of dilations, and of
# the layout, is left out as well.

import numpy as np


def values(shape, step=1):
    return (np.arange(np.prod(shape)) * 7 % 11 - 5).reshape(shape) * step


def convolved(image, filters, bias, pads, strides, dilations):
    left, right, top, bottom = pads
    image = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)))
    reach = [(n - 1) * d + 1 for n, d in zip(filters.shape[1:3], dilations, strict=True)]
    height = (image.shape[1] - reach[0]) // strides[0] + 1
    width = (image.shape[2] - reach[1]) // strides[1] + 1
    out = np.zeros((image.shape[0], height, width, len(filters)))
    for y, x in np.ndindex(height, width):
        part = image[:, y * strides[0] :, x * strides[1] :]
        part = part[:, : reach[0] : dilations[0], : reach[1] : dilations[1]]
        out[:, y, x] = np.tensordot(part, filters, ((1, 2, 3), (1, 2, 3))) + bias
    return out


image_values, filter_values, bias_values = values((2, 5, 7, 3)), values((2, 3, 2, 3)), [3, -4]
forms = {
    # explicit padding (left, right, top, bottom), or the same as a scheme
    "explicit": ([1, 0, 0, 2], (1, 0, 0, 2), (2, 1), (1, 1)),
    "same": ([1], (0, 1, 1, 1), (1, 3), (1, 1)),
    "valid": ([2], (0, 0, 0, 0), (2, 2), (1, 1)),
    "dilated": ([2, 1, 1, 0], (2, 1, 1, 0), (1, 2), (2, 3)),
    "same_dilated": ([1], (1, 2, 2, 2), (1, 1), (2, 3)),
}
for name, (padding, pads, strides, dilations) in forms.items():
    expected = convolved(image_values, filter_values, bias_values, pads, strides, dilations)
    image = Input("image", ("TENSOR_FLOAT32", list(image_values.shape)))
    filters = Parameter("filters", ("TENSOR_FLOAT32", [2, 3, 2, 3]), filter_values.ravel().tolist())
    bias = Parameter("bias", ("TENSOR_FLOAT32", [2]), bias_values)
    layout = BoolScalar("layout", False)
    out = Output("out", ("TENSOR_FLOAT32", list(expected.shape)))
    scalars = [*padding, strides[1], strides[0], 0]
    # Some sums are beyond what the output can hold.
    quant8 = DataTypeConverter(name="quant8").Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            filters: ("TENSOR_QUANT8_ASYMM", 0.25, 100),
            bias: ("TENSOR_INT32", 0.125, 0),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 130),
        }
    )
    # A scale for each filter.
    channel_quant8 = DataTypeConverter().Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            filters: (
                "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                *(0.0, 0, SymmPerChannelQuantParams(0, [0.25, 0.5])),
            ),
            bias: ("TENSOR_INT32", 0.0, 0, SymmPerChannelQuantParams(0, [0.125, 0.25], hide=True)),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 130),
        }
    )
    types = "float16", quant8, channel_quant8
    feeds = {image: image_values.ravel().tolist(), out: expected.ravel().tolist()}
    full = [*scalars, layout, dilations[1], dilations[0]]
    Model(name).Operation("CONV_2D", image, filters, bias, *full).To(out)
    Example(feeds).AddNchw(image, out, layout).AddVariations(*types)
    if dilations != (1, 1):
        continue
    Model(f"{name}_layout").Operation("CONV_2D", image, filters, bias, *scalars, layout).To(out)
    Example(feeds).AddNchw(image, out, layout).AddVariations(*types)
    Model(f"{name}_bare").IntroducedIn("V1_0").Operation(
        "CONV_2D", image, filters, bias, *scalars
    ).To(out)
    Example(feeds).AddVariations(*types)
    for later in ("float16", "channelQuant8"):
        Example.SetVersion("V1_2", f"conv_2d_forms_{name}_bare_{later}")
