# SPDX-License-Identifier: Apache-2.0
# A result without elements: a score below the threshold leaves no box, and nothing to add to.

scores = Parameter("scores", "TENSOR_FLOAT32", "{1, 2}", [0.90, 0.10])
boxes = Parameter("boxes", "TENSOR_FLOAT32", "{1, 8}", [1, 1, 10, 10, 0, 0, 10, 10])
kept = Output("kept", "TENSOR_FLOAT32", "{0}")
classes = Output("classes", "TENSOR_INT32", "{0}")
roi = Internal("roi", "TENSOR_FLOAT32", "{0, 4}")
batches = Internal("batches", "TENSOR_INT32", "{0}")
model = Model("zero_sized")
model.Operation("BOX_WITH_NMS_LIMIT", scores, boxes, [0], 0.3, -1, 0, 0.4, 1.0, 0.3)
model.To(kept, roi, classes, batches)
moved = Output("moved", "TENSOR_FLOAT32", "{0, 4}")
model.Operation("ADD", roi, [1.0, 2.0, 3.0, 4.0], 0).To(moved)
thing = Input("thing", "TENSOR_FLOAT32", "{1}")
same = Output("same", "TENSOR_FLOAT32", "{1}")
model.Operation("ADD", thing, [0.0], 0).To(same)
Example({thing: [3], kept: [], classes: [], moved: [], same: [3]}).AddVariations("relaxed")
