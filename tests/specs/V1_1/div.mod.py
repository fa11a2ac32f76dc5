# SPDX-License-Identifier: Apache-2.0
# A division by zero may give anything, as long as it gives something.

x = Input("x", "TENSOR_FLOAT32", "{3}")
y = Input("y", "TENSOR_FLOAT32", "{3}")
z = Output("z", "TENSOR_FLOAT32", "{3}")
Model().Operation("DIV", x, y, 0).To(z)
Example({x: [1, -9, 0], y: [4, 3, 5], z: [0.25, -3, 0]})

anything = IgnoredOutput("anything", "TENSOR_FLOAT32", "{3}")
Model("zero").Operation("DIV", x, y, 0).To(anything)
Example({x: [1, 0, -1], y: [0, 0, 0], anything: [0, 0, 0]})
