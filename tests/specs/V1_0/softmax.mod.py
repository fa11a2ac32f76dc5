# SPDX-License-Identifier: Apache-2.0
# Against the definition, in double; large logits do not overflow. Bytes are 256ths.
import numpy as np

BETA = 0.5
logits = np.array([[1.0, 2.0, 3.0, 4.0], [80.0, 100.0, 100.0, -100.0]])
powers = np.exp(BETA * (logits - logits.max(axis=1, keepdims=True)))
expected = powers / powers.sum(axis=1, keepdims=True)

x = Input("x", "TENSOR_FLOAT32", "{2, 4}")
beta = Float32Scalar("beta", BETA)
z = Output("z", "TENSOR_FLOAT32", "{2, 4}")
Model().Operation("SOFTMAX", x, beta).To(z)
Example({x: logits.flatten().tolist(), z: expected.flatten().tolist()}).AddRelaxed(
    includeDefault=True, defaultName="exact"
)
bytes_of_it = DataTypeConverter(name="quant8").Identify(
    {x: ("TENSOR_QUANT8_ASYMM", 1.0, 110), z: ("TENSOR_QUANT8_ASYMM", 1 / 256, 0)}
)
typed = Example({x: logits.flatten().tolist(), z: expected.flatten().tolist()}, name="typed")
typed.AddVariations("float16", bytes_of_it, includeDefault=False)
Example.SetVersion("V1_2", "softmax_typed_float16")
