# SPDX-License-Identifier: Apache-2.0
# Each type can be cast to itself, which keeps every bit.

TYPES = {
    "bool8": (("TENSOR_BOOL8", [4]), [True, False, False, True]),
    "quant8_signed": (("TENSOR_QUANT8_ASYMM_SIGNED", [4], 0.5, -3), [-128, 127, 0, -1]),
    "quant8_symm": (("TENSOR_QUANT8_SYMM", [4], 0.5, 0), [-127, 127, 0, -1]),
    "quant16_symm": (("TENSOR_QUANT16_SYMM", [4], 0.5, 0), [-32768, 32767, 0, -1]),
    "quant16_asymm": (("TENSOR_QUANT16_ASYMM", [4], 0.5, 9), [0, 65535, 9, 1]),
}
for name, (operand_type, values) in TYPES.items():
    x, z = Input("x", operand_type), Output("z", operand_type)
    Model(name).Operation("CAST", x).To(z)
    Example({x: values, z: values})
