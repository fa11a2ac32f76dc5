# SPDX-License-Identifier: Apache-2.0
# With axes, and without: an operand that is left out. Of numbers and of bytes.

x = Input("x", "TENSOR_FLOAT32", "{1, 2, 1, 2}")
some = Output("some", "TENSOR_FLOAT32", "{2, 1, 2}")
Model("some").Operation("SQUEEZE", x, Parameter("axes", "TENSOR_INT32", "{1}", [0])).To(some)
quant8 = DataTypeConverter("quant8", scale=0.5, zeroPoint=7)
Example({x: [1, 2, 3, 4], some: [1, 2, 3, 4]}).AddVariations(quant8)

left_out = Parameter("axes", "TENSOR_INT32", "{1}", None)
every = Output("every", "TENSOR_FLOAT32", "{2, 2}")
Model("every").Operation("SQUEEZE", x, left_out).To(every)
Example({x: [1, 2, 3, 4], every: [1, 2, 3, 4]})
