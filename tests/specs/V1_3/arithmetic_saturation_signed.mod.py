# SPDX-License-Identifier: Apache-2.0
# ADD, MUL and SUB of signed bytes at both ends of their range, with results beyond it, and each
# activation.

import numpy as np

STEPS = [-128, -128, 127, 127, -128, 0, 127]
OTHER = [-128, 127, -128, 127, 0, 0, 0]
COMPUTE = {"ADD": (np.add, 0.25), "MUL": (np.multiply, 2.0), "SUB": (np.subtract, 0.25)}
# The bounds of the activations, in real numbers.
BOUNDS = {"none": (-1e9, 1e9), "relu": (0, 1e9), "relu1": (-1, 1), "relu6": (0, 6)}
for operation, (compute, scale) in COMPUTE.items():
    left = (np.array(STEPS) - (0)) * 0.5
    right = (np.array(OTHER) - (-28)) * 0.125
    real = compute(left, right)
    for code, (name, bounds) in enumerate(BOUNDS.items()):
        steps = np.rint(np.clip(real, *bounds) / scale) + (2)
        x = Input("x", ("TENSOR_QUANT8_ASYMM_SIGNED", [7], 0.5, 0))
        y = Input("y", ("TENSOR_QUANT8_ASYMM_SIGNED", [7], 0.125, -28))
        z = Output("z", ("TENSOR_QUANT8_ASYMM_SIGNED", [7], scale, 2))
        Model(operation.lower() + "_" + name).Operation(operation, x, y, code).To(z)
        Example({x: STEPS, y: OTHER, z: np.clip(steps, -128, 127).astype(int).tolist()})
