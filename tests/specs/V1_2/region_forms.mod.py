# SPDX-License-Identifier: Apache-2.0
# Regions that reach beyond the feature map, that are empty, of a batch that is not the first, with
# the samples of a bin given or not; in both layouts and all types of 1.2.

import numpy as np

features = (np.arange(2 * 3 * 4 * 2) * 7 % 13 - 6.0).reshape(2, 3, 4, 2)
regions = np.array([[0, 0, 6, 4], [2, 1, 3, 5], [4, 4, 4, 4]], float)
batches = [0, 1, 1]
RATIO_H, RATIO_W = 2.0, 1.0


def sampled(feature, y, x):
    """Bilinear; up to a pixel outside counts as the edge."""
    height, width = feature.shape[:2]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(2)
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, along = y - top, x - left
    upper = feature[top, left] * (1 - along) + feature[top, right] * along
    lower = feature[bottom, left] * (1 - along) + feature[bottom, right] * along
    return upper * (1 - down) + lower * down


def aligned(height, width, samples):
    out = np.zeros((3, height, width, 2))
    for n, (x1, y1, x2, y2) in enumerate(regions / [RATIO_W, RATIO_H, RATIO_W, RATIO_H]):
        tall, wide = max(y2 - y1, 1), max(x2 - x1, 1)
        rows = samples or int(np.ceil(tall / height))
        columns = samples or int(np.ceil(wide / width))
        for i, j, p, q in np.ndindex(height, width, rows, columns):
            y = y1 + (i + (p + 0.5) / rows) * tall / height
            x = x1 + (j + (q + 0.5) / columns) * wide / width
            out[n, i, j] += sampled(features[batches[n]], y, x) / (rows * columns)
    return out


for name, (height, width, samples) in {"given": (2, 2, 2), "adaptive": (1, 3, 0)}.items():
    expected = aligned(height, width, samples)
    x = Input("x", ("TENSOR_FLOAT32", [2, 3, 4, 2]))
    r = Input("r", ("TENSOR_FLOAT32", [3, 4]))
    b = Parameter("b", "TENSOR_INT32", "{3}", batches)
    layout = BoolScalar("layout", False)
    z = Output("z", ("TENSOR_FLOAT32", list(expected.shape)))
    Model(name).Operation(
        "ROI_ALIGN",
        *(x, r, b, height, width),
        *(Float32Scalar("h", RATIO_H), Float32Scalar("w", RATIO_W)),
        *(samples, samples, layout),
    ).To(z)
    quant8 = DataTypeConverter(name="quant8").Identify(
        {
            x: ("TENSOR_QUANT8_ASYMM", 0.25, 128),
            r: ("TENSOR_QUANT16_ASYMM", 0.125, 0),
            z: ("TENSOR_QUANT8_ASYMM", 0.0625, 130),
        }
    )
    Example(
        {
            x: features.ravel().tolist(),
            r: regions.ravel().tolist(),
            z: expected.ravel().tolist(),
        }
    ).AddNchw(x, z, layout).AddVariations("float16", quant8)
