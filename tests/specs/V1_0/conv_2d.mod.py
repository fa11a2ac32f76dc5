# SPDX-License-Identifier: Apache-2.0
# A 2x2 filter over a 3x3 image, both implicit paddings, with the activations as converters.

image = Input("image", ("TENSOR_FLOAT32", [1, 3, 3, 1]))
weights = Parameter("weights", ("TENSOR_FLOAT32", [1, 2, 2, 1]), [1, -1, 2, 0.5])
bias = Parameter("bias", ("TENSOR_FLOAT32", [1]), [-3])
act = Int32Scalar("act", 0)
pixels = [1, 2, 3, 4, 5, 6, 7, 8, 9]


def convolved(rows, columns):
    """In Python, with zeros beyond the image."""

    def pixel(row, column):
        return pixels[row * 3 + column] if row < 3 and column < 3 else 0

    return [
        pixel(r, c) - pixel(r, c + 1) + 2 * pixel(r + 1, c) + 0.5 * pixel(r + 1, c + 1) - 3
        for r in range(rows)
        for c in range(columns)
    ]


for name, padding, size in (("same", 1, 3), ("valid", 2, 2)):
    out = Output("out", ("TENSOR_FLOAT32", [1, size, size, 1]))
    Model(name).Operation("CONV_2D", image, weights, bias, padding, 1, 1, act).To(out)
    quant8 = DataTypeConverter().Identify(
        {
            image: ("TENSOR_QUANT8_ASYMM", 0.5, 10),
            weights: ("TENSOR_QUANT8_ASYMM", 0.5, 128),
            bias: ("TENSOR_INT32", 0.25, 0),
            out: ("TENSOR_QUANT8_ASYMM", 0.5, 20),
        }
    )
    Example({image: pixels, out: convolved(size, size)}).AddVariations(
        ActivationConverter("relu").Identify([out, act]),
        ("relu1", [out, act]),
        ActivationConverter(act="relu6", name="six").Identify([out, act]),
        defaultName="plain",
    ).AddVariations(quant8)
