# SPDX-License-Identifier: Apache-2.0
# Functions of one float at infinities, zeros of either sign, and numbers so small or large that a
# naive formula fails. (An expected NaN can't be told in a spec.)

inf = float("inf")
POINTS = {
    "ABS": ([-0.0, inf, -inf, -65504.0], [0.0, inf, inf, 65504.0]),
    "EXP": ([inf, -inf, 0.0, 200.0, -200.0], [inf, 0.0, 1.0, inf, 0.0]),
    "FLOOR": ([inf, -inf, -0.5, 0.5, -2.0, 2.75], [inf, -inf, -1.0, 0.0, -2.0, 2.0]),
    "LOG": ([inf, 1.0, 0.0, -0.0], [inf, 0.0, -inf, -inf]),
    "NEG": ([inf, -inf, -0.0, 65504.0], [-inf, inf, 0.0, -65504.0]),
    "RSQRT": ([inf, 0.0, 4.0, 0.0625], [0.0, inf, 0.5, 4.0]),
    "SIN": ([0.0, -0.0, 1.0, -1.0], [0.0, 0.0, 0.8414709848, -0.8414709848]),
    "SQRT": ([inf, 0.0, -0.0, 6.25], [inf, 0.0, 0.0, 2.5]),
}
for operation, (given, expected) in POINTS.items():
    if operation == "FLOOR":
        continue  # of 1.0
    x = Input("x", ("TENSOR_FLOAT32", [len(given)]))
    z = Output("z", ("TENSOR_FLOAT32", [len(given)]))
    Model(operation.lower()).Operation(operation, x).To(z)
    Example({x: given, z: expected}).AddVariations("float16")

given, expected = POINTS["FLOOR"]
x = Input("x", ("TENSOR_FLOAT16", [len(given)]))
z = Output("z", ("TENSOR_FLOAT16", [len(given)]))
Model("floor").Operation("FLOOR", x).To(z)
Example({x: given, z: expected})

# Seventeen elements: a vector register and a tail.
x = Input("x", ("TENSOR_FLOAT32", [17]))
z = Output("z", ("TENSOR_FLOAT32", [17]))
Model("tail").Operation("NEG", x).To(z)
Example({x: list(range(17)), z: [-n for n in range(17)]}).AddVariations("float16", "int32")
