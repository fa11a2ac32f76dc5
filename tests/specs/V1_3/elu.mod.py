# SPDX-License-Identifier: Apache-2.0
# Against its formula; only negative numbers know of alpha.
import math

ALPHA = 0.5
numbers = [-30.0, -1.0, 0.0, 0.25, 7.0]
x = Input("x", "TENSOR_FLOAT32", "{5}")
z = Output("z", "TENSOR_FLOAT32", "{5}")
alpha = Float32Scalar("alpha", ALPHA)
Model().Operation("ELU", x, alpha).To(z)
expected = [number if number > 0 else ALPHA * math.expm1(number) for number in numbers]
Example({x: numbers, z: expected}).AddVariations("relaxed", "float16")
