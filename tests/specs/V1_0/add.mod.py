# SPDX-License-Identifier: Apache-2.0
# Two images with a row that is broadcast, each activation, float and quantised.

x = Input("x", "TENSOR_FLOAT32", "{1, 2, 3}")
y = Input("y", "TENSOR_FLOAT32", "{3}")
act = Int32Scalar("act", 0)
z = Output("z", "TENSOR_FLOAT32", "{1, 2, 3}")
Model().Operation("ADD", x, y, act).To(z)

# 0.25 is exact, and 8 would not fit above zero point 240.
quant8 = DataTypeConverter().Identify(
    {
        x: ("TENSOR_QUANT8_ASYMM", 0.25, 120),
        y: ("TENSOR_QUANT8_ASYMM", 0.5, 100),
        z: ("TENSOR_QUANT8_ASYMM", 0.25, 128),
    }
)
Example(
    {
        x: [-4.0, -0.5, 0.0, 0.5, 2.0, 6.0],
        y: [1.0, -0.25 * 2, 2.0],
        z: [-3.0, -1.0, 2.0, 1.5, 1.5, 8.0],
    }
).AddAllActivations(z, act).AddVariations("relaxed", quant8)
