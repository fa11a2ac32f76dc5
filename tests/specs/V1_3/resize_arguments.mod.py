# SPDX-License-Identifier: Apache-2.0
# Resizing to a size and by scales, with as many of the last arguments as one likes to give.

import numpy as np

image = (np.arange(2 * 2 * 4 * 1) * 7 % 13 - 6.0).reshape(2, 2, 4, 1)
# Twice as high: rows 0, 1/2, 1 and, at the edge, 1; half as wide: columns 0 and 2.
columns = image[:, :, ::2]
top, bottom = columns[:, :1], columns[:, 1:]
RESULTS = {
    "RESIZE_BILINEAR": np.concatenate([top, (top + bottom) / 2, bottom, bottom], 1),
    "RESIZE_NEAREST_NEIGHBOR": np.repeat(columns, 2, 1),
}
# How many of layout, aligned corners and half pixels are given, and since when.
SINCE = {0: "V1_0", 1: "V1_2", 2: "V1_3", 3: "V1_3"}
for operation, expected in RESULTS.items():
    for how in ("size", "scale"):
        for count, version in SINCE.items():
            if count == 0 and operation == "RESIZE_NEAREST_NEIGHBOR":
                continue  # It came with its layout.
            since = max(version, "V1_2" if how == "scale" else "V1_0")
            x = Input("x", ("TENSOR_FLOAT32", [2, 2, 4, 1]))
            z = Output("z", ("TENSOR_FLOAT32", [2, 4, 2, 1]))
            sides = [2, 4] if how == "size" else [0.5, 2.0]
            flags = [BoolScalar(name, False) for name in ("layout", "aligned", "half")][:count]
            title = f"{operation.lower()}_{how}_{count}"
            Model(title).IntroducedIn(since).Operation(operation, x, *sides, *flags).To(z)
            example = Example({x: image.ravel().tolist(), z: expected.ravel().tolist()})
            if count:
                example.AddNchw(x, z, flags[0])
            example.AddVariations(
                "float16", DataTypeConverter("quant8", scale=0.125, zeroPoint=120)
            )
            if since == "V1_0":
                for later in ("float16", "quant8"):
                    Example.SetVersion("V1_2", f"resize_arguments_{title}_{later}")
