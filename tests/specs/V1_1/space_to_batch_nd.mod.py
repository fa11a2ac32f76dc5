# SPDX-License-Identifier: Apache-2.0
# Blocks of two, with padding behind; then back again, in one model.

x = Input("x", "TENSOR_FLOAT32", "{1, 3, 2, 1}")
block = Parameter("block", "TENSOR_INT32", "{2}", [2, 2])
padding = Parameter("padding", "TENSOR_INT32", "{2, 2}", [0, 1, 0, 0])
z = Output("z", "TENSOR_FLOAT32", "{4, 2, 1, 1}")
Model().Operation("SPACE_TO_BATCH_ND", x, block, padding).To(z)
Example({x: [1, 2, 3, 4, 5, 6], z: [1, 5, 2, 6, 3, 0, 4, 0]})

batches = Internal("batches", "TENSOR_FLOAT32", "{4, 2, 1, 1}")
whole = Output("whole", "TENSOR_FLOAT32", "{1, 4, 2, 1}")
back = Model("back")
back.Operation("SPACE_TO_BATCH_ND", x, block, padding).To(batches)
back.Operation("BATCH_TO_SPACE_ND", batches, block).To([whole])
Example({x: [1, 2, 3, 4, 5, 6], whole: [1, 2, 3, 4, 5, 6, 0, 0]})
