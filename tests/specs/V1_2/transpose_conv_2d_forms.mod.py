# SPDX-License-Identifier: Apache-2.0
# Strides that differ, padding on some sides only, an output shape that a stride does not reach,
# both layouts, and every type of 1.2.

import numpy as np

image_values = (np.arange(2 * 2 * 3 * 2) * 7 % 11 - 5.0).reshape(2, 2, 3, 2)
filter_values = (np.arange(3 * 3 * 2 * 2) * 5 % 9 - 4.0).reshape(3, 3, 2, 2)
bias_values = [2, -1, 0]


def spread(strides, before, sizes):
    """On a canvas that is large enough; the output is a part of it."""
    canvas = np.zeros((2, 20, 20, 3))
    for y, x in np.ndindex(2, 3):
        part = np.tensordot(image_values[:, y, x], filter_values, ((1,), (3,)))
        top, left = y * strides[0], x * strides[1]
        canvas[:, top : top + 3, left : left + 2] += part.transpose(0, 2, 3, 1)
    top, left = before
    return canvas[:, top : top + sizes[0], left : left + sizes[1]] + bias_values


# left, right, top, bottom; or the shape of the output with a scheme
forms = {
    "explicit": ((1, 0, 0, 1), (2, 3), (0, 1), (4, 7)),
    "unit": ((0, 1, 1, 1), (1, 1), (1, 0), (2, 3)),
    "same": (1, (2, 2), (0, 0), (4, 6)),
    "same_short": (1, (2, 2), (1, 0), (3, 5)),
    "valid": (2, (2, 2), (0, 0), (5, 7)),
}
for name, (padding, strides, before, sizes) in forms.items():
    expected = spread(strides, before, sizes)
    image = Input("image", ("TENSOR_FLOAT32", [2, 2, 3, 2]))
    filters = Parameter("filters", ("TENSOR_FLOAT32", [3, 3, 2, 2]), filter_values.ravel().tolist())
    bias = Parameter("bias", ("TENSOR_FLOAT32", [3]), bias_values)
    layout = BoolScalar("layout", False)
    out = Output("out", ("TENSOR_FLOAT32", list(expected.shape)))
    targets = [image, out, layout]
    if isinstance(padding, tuple):
        scalars = [*padding]
    else:
        shape = Int32Vector("shape", list(expected.shape))
        scalars = [shape, padding]
        targets.append(shape)
    scalars += [strides[1], strides[0], 0, layout]
    Model(name).Operation("TRANSPOSE_CONV_2D", image, filters, bias, *scalars).To(out)
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
                *(0.0, 0, SymmPerChannelQuantParams(0, [0.25, 0.5, 1.0])),
            ),
            bias: (
                "TENSOR_INT32",
                *(0.0, 0, SymmPerChannelQuantParams(0, [0.125, 0.25, 0.5], hide=True)),
            ),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 130),
        }
    )
    Example({image: image_values.ravel().tolist(), out: expected.ravel().tolist()}).AddNchw(
        *targets
    ).AddVariations("float16", quant8, channel_quant8)
