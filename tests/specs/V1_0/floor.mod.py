# SPDX-License-Identifier: Apache-2.0
# Halves, integers and numbers just beside them.

x = Input("x", "TENSOR_FLOAT32", "{6}")
z = Output("z", "TENSOR_FLOAT32", "{6}")
Model().Operation("FLOOR", x).To(z)
Example({x: [-1.5, -1.0, -0.25, 0.0, 1.75, 8388607.5], z: [-2, -1, -1, 0, 1, 8388607]})
