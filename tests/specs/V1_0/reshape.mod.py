# SPDX-License-Identifier: Apache-2.0
# One extent may follow from the others. What is not declared follows from the Python type.

x = Input("x", "TENSOR_FLOAT32", "{2, 3, 2}")
z = Output("z", "TENSOR_FLOAT32", "{3, 4}")
Model().Operation("RESHAPE", x, [3, -1]).To(z)
values = [float(i) for i in range(12)]
Example({x: values, z: values}).AddVariations(DataTypeConverter("quant8", scale=0.5, zeroPoint=3))

# A shape that is written as a vector, which no derived form feeds as an input.
shape = Int32Vector("shape", [12])
flat = Output("flat", "TENSOR_FLOAT32", "{12}")
Model("flat").Operation("RESHAPE", x, shape).To(flat)
Example({x: values, flat: values})
