# SPDX-License-Identifier: Apache-2.0
# Resizing that grows one side and shrinks the other, with aligned corners and half pixels, to one
# pixel, in both layouts and all types.

import numpy as np

image = (np.arange(1 * 2 * 4 * 2) * 7 % 13 - 6.0).reshape(1, 2, 4, 2)


def places(extent, size, align, half):
    if align and size > 1:
        return np.arange(size) * (extent - 1) / (size - 1)
    if half:
        return (np.arange(size) + 0.5) * extent / size - 0.5
    return np.arange(size) * extent / size


def bilinear(values, axis, where):
    last = values.shape[axis] - 1
    low = np.floor(where).astype(int)
    weight = (where - low).reshape([-1 if at == axis else 1 for at in range(4)])
    near, far = (values.take(np.clip(low + n, 0, last), axis) for n in (0, 1))
    return near * (1 - weight) + far * weight


def nearest(values, axis, where, align, half):
    shift = (0.5 if align else 0) + (0.5 if half else 0)
    chosen = np.floor(where + shift).astype(int)
    return values.take(np.clip(chosen, 0, values.shape[axis] - 1), axis)


MODES = {"plain": (False, False), "aligned": (True, False), "half": (False, True)}
for mode, (align, half) in MODES.items():
    for height, width in ((4, 2), (1, 8), (3, 7)):
        rows, columns = places(2, height, align, half), places(4, width, align, half)
        results = {
            "RESIZE_BILINEAR": bilinear(bilinear(image, 1, rows), 2, columns),
            "RESIZE_NEAREST_NEIGHBOR": nearest(
                nearest(image, 1, rows, align, half), 2, columns, align, half
            ),
        }
        for operation, expected in results.items():
            x = Input("x", ("TENSOR_FLOAT32", [1, 2, 4, 2]))
            layout = BoolScalar("layout", False)
            z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
            arguments = [width, height, layout, BoolScalar("a", align), BoolScalar("h", half)]
            title = f"{operation.lower()}_{mode}_{height}_{width}"
            Model(title).Operation(operation, x, *arguments).To(z)
            Example({x: image.ravel().tolist(), z: expected.ravel().tolist()}).AddNchw(
                x, z, layout
            ).AddVariations(
                "float16",
                DataTypeConverter("quant8", scale=0.125, zeroPoint=120),
                DataTypeConverter("quant8_signed", name="bytes", scale=0.125, zeroPoint=-8),
            )
