# SPDX-License-Identifier: Apache-2.0
# Two numbers in a shape that is a constant or an input.

z = Output("z", "TENSOR_FLOAT32", "{2, 2}")
shape = Input("shape", "TENSOR_INT32", "{2}")
Model("input").Operation("FILL", shape, 2.5).To(z)
Example({shape: [2, 2], z: [2.5] * 4}).AddVariations("float16")

whole = Output("whole", "TENSOR_INT32", "{3}")
extent = Input("extent", "TENSOR_INT32", "{1}")
Model("int").Operation("FILL", extent, -7).To(whole)
Example({extent: [3], whole: [-7] * 3})
