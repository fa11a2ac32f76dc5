# SPDX-License-Identifier: Apache-2.0
# Quantised results have scale 1/256 and reach 255 only.
import math

x = Input("x", "TENSOR_FLOAT32", "{1, 5}")
z = Output("z", "TENSOR_FLOAT32", "{1, 5}")
Model().Operation("LOGISTIC", x).To(z)
numbers = [-20.0, -1.5, 0.0, 2.0, 20.0]
quant8 = DataTypeConverter(name="bytes").Identify(
    {x: ("TENSOR_QUANT8_ASYMM", 0.5, 128), z: ("TENSOR_QUANT8_ASYMM", 1 / 256, 0)}
)
Example({x: numbers, z: [1 / (1 + math.exp(-number)) for number in numbers]}).AddVariations(quant8)
