# SPDX-License-Identifier: Apache-2.0
# L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION along each axis from either end, a row of zeros,
# a radius beyond the tensor; INSTANCE_NORMALIZATION of one pixel, in both layouts.

import numpy as np

values = (np.arange(2 * 3 * 4) * 7 % 11 - 5.0).reshape(2, 3, 4)
values[1, 2] = 0
for axis in (0, -2, -1):
    norm = np.sqrt((values**2).sum(axis=axis, keepdims=True))
    expected = values / np.where(norm == 0, 1, norm)
    x, z = (maker(n, ("TENSOR_FLOAT32", [2, 3, 4])) for maker, n in ((Input, "x"), (Output, "z")))
    Model(f"l2_{axis % 3}").Operation("L2_NORMALIZATION", x, axis).To(z)
    types = ["float16"]
    if axis != -1:
        quant8 = DataTypeConverter(name="quant8").Identify(
            {
                x: ("TENSOR_QUANT8_ASYMM", 0.5, 100),
                z: ("TENSOR_QUANT8_ASYMM", 1 / 128, 128),
            }
        )
        types.append(quant8)
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations(*types)

    radius = 1 if axis else 9
    moved = np.moveaxis(values, axis, 0)
    sums = np.zeros(moved.shape)
    for at in range(len(moved)):
        sums[at] = (moved[max(at - radius, 0) : at + radius + 1] ** 2).sum(axis=0)
    expected = values / (2 + 0.5 * np.moveaxis(sums, 0, axis)) ** 0.5
    x, z = (maker(n, ("TENSOR_FLOAT32", [2, 3, 4])) for maker, n in ((Input, "x"), (Output, "z")))
    scalars = [Float32Scalar(n, v) for n, v in (("bias", 2.0), ("alpha", 0.5), ("beta", 0.5))]
    Model(f"lrn_{axis % 3}").Operation(
        "LOCAL_RESPONSE_NORMALIZATION", x, radius, *scalars, axis
    ).To(z)
    Example({x: values.ravel().tolist(), z: expected.ravel().tolist()}).AddVariations("float16")

for name, shape in (("pixel", (2, 1, 1, 3)), ("image", (1, 2, 4, 3))):
    image = (np.arange(np.prod(shape)) * 5 % 7 - 3.0).reshape(shape)
    mean, variance = (f(image, axis=(1, 2), keepdims=True) for f in (np.mean, np.var))
    expected = (image - mean) * -2 / np.sqrt(variance + 0.25) + 3
    x = Input("x", ("TENSOR_FLOAT32", list(shape)))
    z = Output("z", ("TENSOR_FLOAT32", list(shape)))
    layout = BoolScalar("layout", False)
    scalars = [Float32Scalar(n, v) for n, v in (("gamma", -2.0), ("beta", 3.0), ("eps", 0.25))]
    Model("instance_" + name).Operation("INSTANCE_NORMALIZATION", x, *scalars, layout).To(z)
    Example({x: image.ravel().tolist(), z: expected.ravel().tolist()}).AddNchw(
        x, z, layout
    ).AddVariations("float16")
