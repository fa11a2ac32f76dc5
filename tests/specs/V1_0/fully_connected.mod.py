# SPDX-License-Identifier: Apache-2.0
# Weights and bias as a Parameter and a vector; the input is flattened to rows of three.

x = Input("x", ("TENSOR_FLOAT32", [2, 1, 3]))
weights = Parameter("weights", ("TENSOR_FLOAT32", [2, 3]), [1, 2, 3, -1, 0, 0.5])
bias = Float32Vector("bias", [10, -20])
z = Output("z", ("TENSOR_FLOAT32", [2, 2]))
Model().Operation("FULLY_CONNECTED", x, weights, bias, 0).To(z)
quant8 = DataTypeConverter().Identify(
    {
        x: ("TENSOR_QUANT8_ASYMM", 1.0, 100),
        weights: ("TENSOR_QUANT8_ASYMM", 0.5, 50),
        bias: ("TENSOR_INT32", 0.5, 0),
        z: ("TENSOR_QUANT8_ASYMM", 1.0, 60),
    }
)
Example({x: [1, 2, 4, -2, 0, 6], z: [27, -19, 26, -15]}).AddVariations("relaxed", quant8)
