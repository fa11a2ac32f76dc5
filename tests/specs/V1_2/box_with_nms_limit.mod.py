# SPDX-License-Identifier: Apache-2.0
# Of two boxes that overlap by three quarters the better one is left; in another image both would
# be. Class 0 is the background.

SQUARE, LOWER, FAR = [0, 0, 8, 8], [0, 0, 8, 6], [20, 20, 28, 28]
s = Input("s", ("TENSOR_FLOAT32", [4, 2]))
b = Input("b", ("TENSOR_FLOAT32", [4, 8]))
scores = Output("scores", ("TENSOR_FLOAT32", [3]))
boxes = Output("boxes", ("TENSOR_FLOAT32", [3, 4]))
classes = Output("classes", ("TENSOR_INT32", [3]))
batches = Output("batches", ("TENSOR_INT32", [3]))
of_batch = Parameter("of_batch", "TENSOR_INT32", "{4}", [0, 0, 0, 1])
# Scores of a quarter at least, any number of boxes, the hard kernel, an overlap of a half.
scalars = [0.25, -1, 0, 0.5, 1.0, 0.25]
Model().Operation("BOX_WITH_NMS_LIMIT", s, b, of_batch, *scalars).To(
    scores, boxes, classes, batches
)
of_scores, coordinates = ("TENSOR_QUANT8_ASYMM", 1 / 128, 9), ("TENSOR_QUANT16_ASYMM", 0.125, 0)
quant8 = DataTypeConverter(name="quant8").Identify(
    {s: of_scores, b: coordinates, scores: of_scores, boxes: coordinates}
)
background = [0, 0, 1, 1]
Example(
    {
        s: [0, 0.875, 0, 0.75, 0.5, 0.375, 0.5, 0.625],
        b: [at for box in (SQUARE, LOWER, FAR, LOWER) for at in background + box],
        scores: [0.875, 0.375, 0.625],
        boxes: SQUARE + FAR + LOWER,
        classes: [1, 1, 1],
        batches: [0, 0, 1],
    }
).AddVariations("float16", quant8)
