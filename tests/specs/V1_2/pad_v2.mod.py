# SPDX-License-Identifier: Apache-2.0
# A value of its own for the padding, in float32 and, written as such, in float16; of bytes it is a
# byte.

padding = Parameter("padding", "TENSOR_INT32", "{1, 2}", [1, 2])
x = Input("x", ("TENSOR_FLOAT32", [2]))
z = Output("z", ("TENSOR_FLOAT32", [5]))
value = Float32Scalar("value", -7.5)
Model().Operation("PAD_V2", x, padding, value).To(z)
# The scalar turns with the tensors.
Example({x: [1, 2], z: [-7.5, 1, 2, -7.5, -7.5]}).AddVariations("float16")

half = Float16Scalar("half", 0.1)
h = Input("h", ("TENSOR_FLOAT16", [2]))
o = Output("o", ("TENSOR_FLOAT16", [5]))
Model("half").Operation("PAD_V2", h, padding, half).To(o)
Example({h: [1, 2], o: [0.1, 1, 2, 0.1, 0.1]})

for name, kind, low, high in (
    ("quant8", ("TENSOR_QUANT8_ASYMM", 0.5, 9), 0, 255),
    ("signed_bytes", ("TENSOR_QUANT8_ASYMM_SIGNED", 0.5, -9), -128, 127),
):
    b = Input("b", (kind[0], [2], *kind[1:]))
    p = Output("p", (kind[0], [5], *kind[1:]))
    Model(name).Operation("PAD_V2", b, padding, low).To(p)
    Example({b: [1, high], p: [low, 1, high, low, low]})
# Signed bytes came with 1.3.
Example.SetVersion("V1_3", "pad_v2_signed_bytes")
