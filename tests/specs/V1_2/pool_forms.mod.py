# SPDX-License-Identifier: Apache-2.0
# The three poolings: windows that lie on the padding in part, strides that differ, both layouts,
# and bytes that saturate at an activation; without the layout, as 1.0 has them.

import numpy as np

image_values = (np.arange(2 * 5 * 4 * 3) * 7 % 23 - 11.0).reshape(2, 5, 4, 3)
REDUCED = {
    "AVERAGE_POOL_2D": lambda part: part.mean(axis=(1, 2)),
    "MAX_POOL_2D": lambda part: part.max(axis=(1, 2)),
    "L2_POOL_2D": lambda part: np.sqrt((part**2).mean(axis=(1, 2))),
}


def pooled(reduced, pads, strides, filters):
    left, right, top, bottom = pads
    height = (5 + top + bottom - filters[0]) // strides[0] + 1
    width = (4 + left + right - filters[1]) // strides[1] + 1
    out = np.zeros((2, height, width, 3))
    for y, x in np.ndindex(height, width):
        low = y * strides[0] - top, x * strides[1] - left
        rows = slice(max(low[0], 0), low[0] + filters[0])
        columns = slice(max(low[1], 0), low[1] + filters[1])
        out[:, y, x] = reduced(image_values[:, rows, columns])
    return out


forms = {
    "explicit": ([1, 0, 0, 2], (1, 0, 0, 2), (2, 1), (3, 2)),
    "same": ([1], (0, 1, 1, 1), (1, 2), (3, 3)),
    "valid": ([2], (0, 0, 0, 0), (2, 1), (2, 4)),
}
for operation, reduced in REDUCED.items():
    for name, (padding, pads, strides, filters) in forms.items():
        expected = pooled(reduced, pads, strides, filters)
        image = Input("image", ("TENSOR_FLOAT32", [2, 5, 4, 3]))
        layout, act = BoolScalar("layout", False), Int32Scalar("act", 0)
        out = Output("out", ("TENSOR_FLOAT32", list(expected.shape)))
        operands = [image, *padding, strides[1], strides[0], filters[1], filters[0], act]
        title = f"{operation.lower()}_{name}"
        types = ["float16"]
        if operation != "L2_POOL_2D":
            types.append(DataTypeConverter("quant8", scale=0.5, zeroPoint=100))
        feeds = {image: image_values.ravel().tolist(), out: expected.ravel().tolist()}
        Model(title).Operation(operation, *operands, layout).To(out)
        Example(feeds).AddNchw(image, out, layout).AddAllActivations(out, act).AddVariations(*types)
        Model(f"{title}_bare").IntroducedIn("V1_0").Operation(operation, *operands).To(out)
        Example(feeds).AddVariations(*types)
        Example.SetVersion("V1_2", f"pool_forms_{title}_bare_float16")
