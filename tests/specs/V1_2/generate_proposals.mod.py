# SPDX-License-Identifier: Apache-2.0
# Two anchors at each of two places, 16 apart. The two of a place overlap by a third, so the better
# one of them is left. In the first image one of these has moved by half its height, and is clipped
# to a width of 30.

SQUARE, WIDE = [0, 0, 8, 8], [0, 0, 16, 4]
anchors = Parameter("anchors", ("TENSOR_FLOAT32", [2, 4]), SQUARE + WIDE)
s = Input("s", ("TENSOR_FLOAT32", [2, 1, 2, 2]))
d = Input("d", ("TENSOR_FLOAT32", [2, 1, 2, 8]))
i = Input("i", ("TENSOR_FLOAT32", [2, 2]))
layout = BoolScalar("layout", False)
scores = Output("scores", ("TENSOR_FLOAT32", [4]))
boxes = Output("boxes", ("TENSOR_FLOAT32", [4, 4]))
batches = Output("batches", ("TENSOR_INT32", [4]))
# No limit before the suppression, four boxes after it; an overlap of a quarter; at least 1 large.
scalars = [16.0, 16.0, -1, 4, 0.25, 1.0, layout]
Model().Operation("GENERATE_PROPOSALS", s, d, anchors, i, *scalars).To(scores, boxes, batches)
of_scores, coordinates = ("TENSOR_QUANT8_ASYMM", 1 / 128, 0), ("TENSOR_QUANT16_ASYMM", 0.125, 0)
quant8 = DataTypeConverter(name="quant8").Identify(
    {
        s: of_scores,
        d: ("TENSOR_QUANT8_ASYMM", 0.0625, 128),
        anchors: ("TENSOR_QUANT16_SYMM", 0.125, 0),
        i: coordinates,
        scores: of_scores,
        boxes: coordinates,
    }
)
nothing, down = [0, 0, 0, 0], [0, 0.5, 0, 0]
Example(
    {
        s: [15 / 16, 12 / 16, 9 / 16, 11 / 16, 1 / 16, 2 / 16, 3 / 16, 4 / 16],
        d: nothing * 3 + down + nothing * 4,
        i: [32, 30, 32, 32],
        scores: [15 / 16, 11 / 16, 4 / 16, 2 / 16],
        boxes: [*SQUARE, 16, 2, 30, 6, 16, 0, 32, 4, *WIDE],
        batches: [0, 0, 1, 1],
    }
).AddNchw(s, d, layout).AddVariations("float16", quant8)
