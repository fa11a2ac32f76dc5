# SPDX-License-Identifier: Apache-2.0
# RSQRT of either type of bytes, with scales of their own: 0 gives the largest number.

CASES = {
    "exact": ((0.25, 0), (0.25, 0), [1, 4, 16, 64], [8, 4, 2, 1]),
    "coarser": ((1 / 16, 20), (0.5, 30), [21, 24, 36, 84, 20], [38, 34, 32, 31, 127]),
    "finer": ((0.5, 50), (1 / 64, -100), [52, 58, 82], [-36, -68, -84]),
}
for name, (given, made, values, expected) in CASES.items():
    for kind, shift in (("TENSOR_QUANT8_ASYMM", 128), ("TENSOR_QUANT8_ASYMM_SIGNED", 0)):
        x = Input("x", (kind, [len(values)], given[0], given[1] + shift))
        z = Output("z", (kind, [len(values)], made[0], made[1] + shift))
        Model(f"{name}_{'signed' if shift == 0 else 'unsigned'}").Operation("RSQRT", x).To(z)
        Example({x: [v + shift for v in values], z: [v + shift for v in expected]})
