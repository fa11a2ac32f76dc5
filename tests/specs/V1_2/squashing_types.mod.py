# SPDX-License-Identifier: Apache-2.0
# LOGISTIC and TANH of halves and of bytes, whose results have scales of their own.

import numpy as np

values = np.arange(-32, 32) / 8.0
FUNCTIONS = {
    "LOGISTIC": (1 / (1 + np.exp(-values)), (1 / 256, 0)),
    "TANH": (np.tanh(values), (1 / 128, 128)),
}
for operation, (expected, quantization) in FUNCTIONS.items():
    x, z = Input("x", ("TENSOR_FLOAT32", [64])), Output("z", ("TENSOR_FLOAT32", [64]))
    title = operation.lower()
    Model(title).IntroducedIn("V1_0").Operation(operation, x).To(z)
    quant8 = DataTypeConverter(name="quant8").Identify(
        {x: ("TENSOR_QUANT8_ASYMM", 0.125, 50), z: ("TENSOR_QUANT8_ASYMM", *quantization)}
    )
    Example({x: values.tolist(), z: expected.tolist()}).AddVariations("float16", quant8)
    Example.SetVersion("V1_2", f"squashing_types_{title}_float16")
# Bytes came later to one of them.
Example.SetVersion("V1_2", "squashing_types_tanh_quant8")
