# SPDX-License-Identifier: Apache-2.0
# Three anchors, of which the first two overlap by 7/9, and two classes beside the background. One
# suppression for all classes drops the second anchor; the regular one, for each class, leaves its
# second class.

# Centre and extent: y, x, height, width. The second one is moved down by an eighth of its height.
anchors = Parameter("anchors", ("TENSOR_FLOAT32", [3, 4]), [2, 2, 4, 4] * 2 + [10, 10, 4, 4])
FIRST, SECOND, THIRD, NONE = [0, 0, 4, 4], [0.5, 0, 4.5, 4], [8, 8, 12, 12], [0, 0, 0, 0]
for name, found, found_boxes, labels in (
    ("fast", [0.875, 0.75, 0], FIRST + THIRD + NONE, [0, 1, 0]),
    ("regular", [0.875, 0.75, 0.375], FIRST + THIRD + SECOND, [0, 1, 1]),
):
    s = Input("s", ("TENSOR_FLOAT32", [1, 3, 3]))
    d = Input("d", ("TENSOR_FLOAT32", [1, 3, 4]))
    scores = Output("scores", ("TENSOR_FLOAT32", [1, 3]))
    boxes = Output("boxes", ("TENSOR_FLOAT32", [1, 3, 4]))
    classes = Output("classes", ("TENSOR_INT32", [1, 3]))
    count = Output("count", ("TENSOR_INT32", [1]))
    scales = [10.0, 10.0, 5.0, 5.0]
    # Three detections, one class for each, three of each class; the background is no class.
    limits = [3, 1, 3, 0.25, 0.5, False]
    Model(name).Operation(
        "DETECTION_POSTPROCESSING", s, d, anchors, *scales, name == "regular", *limits
    ).To(scores, boxes, classes, count)
    Example(
        {
            s: [0, 0.875, 0.125, 0, 0.8125, 0.375, 0, 0.1875, 0.75],
            d: [0, 0, 0, 0, 1.25, 0, 0, 0, 0, 0, 0, 0],
            scores: found,
            boxes: found_boxes,
            classes: labels,
            count: [sum(score > 0 for score in found)],
        }
    ).AddVariations("float16")
