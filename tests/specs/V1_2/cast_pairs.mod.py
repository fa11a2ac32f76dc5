# SPDX-License-Identifier: Apache-2.0
# From each type of 1.2 to each: small whole numbers, which all of them have. What a byte stands for
# does not count.

TYPES = {
    "float32": ("TENSOR_FLOAT32", [4]),
    "float16": ("TENSOR_FLOAT16", [4]),
    "int32": ("TENSOR_INT32", [4]),
    "quant8": ("TENSOR_QUANT8_ASYMM", [4], 0.5, 7),
}
for source, given in TYPES.items():
    for target, wanted in TYPES.items():
        x, z = Input("x", given), Output("z", wanted)
        Model(f"{source}_to_{target}").Operation("CAST", x).To(z)
        Example({x: [0, 1, 100, 255], z: [0, 1, 100, 255]})
