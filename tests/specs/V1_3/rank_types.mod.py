# SPDX-License-Identifier: Apache-2.0
# The rank of tensors of every type.

per_channel = SymmPerChannelQuantParams(channelDim=1, scales=[0.5, 0.25])
TYPES = {
    "bool8": ("TENSOR_BOOL8", [3]),
    "int32": ("TENSOR_INT32", [1, 2]),
    "float16": ("TENSOR_FLOAT16", [1, 2, 1]),
    "quant8": ("TENSOR_QUANT8_ASYMM", [1, 1, 2, 1], 0.5, 3),
    "signed_bytes": ("TENSOR_QUANT8_ASYMM_SIGNED", [2], 0.5, -3),
    "quant8_symm": ("TENSOR_QUANT8_SYMM", [1, 2, 1, 1, 1], 0.5, 0),
    "quant16_symm": ("TENSOR_QUANT16_SYMM", [2, 1], 0.5, 0),
    "quant16_asymm": ("TENSOR_QUANT16_ASYMM", [2], 0.5, 9),
}
for name, operand_type in TYPES.items():
    count = 3 if name == "bool8" else 2
    x = Input("x", operand_type)
    z = Output("z", "INT32", "{}")
    Model(name).Operation("RANK", x).To(z)
    values = [True, False, True] if name == "bool8" else [1] * count
    Example({x: values, z: [len(operand_type[1])]})

x = Input("x", "TENSOR_QUANT8_SYMM_PER_CHANNEL", "{1, 2}", extraParams=per_channel)
z = Output("z", "INT32", "{}")
Model("per_channel").Operation("RANK", x).To(z)
Example({x: [1, 2], z: [2]})
