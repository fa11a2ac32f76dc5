# SPDX-License-Identifier: Apache-2.0
# ADD and MUL of bytes at both ends of their range, with results beyond it, and each activation.

import numpy as np

STEPS = [0, 0, 255, 255, 0, 128, 255]
OTHER = [0, 255, 0, 255, 128, 128, 128]
COMPUTE = {"ADD": (np.add, 0.25), "MUL": (np.multiply, 2.0)}
# The bounds of the activations, in real numbers.
BOUNDS = {"none": (-1e9, 1e9), "relu": (0, 1e9), "relu1": (-1, 1), "relu6": (0, 6)}
for operation, (compute, scale) in COMPUTE.items():
    left = (np.array(STEPS) - (128)) * 0.5
    right = (np.array(OTHER) - (100)) * 0.125
    real = compute(left, right)
    for code, (name, bounds) in enumerate(BOUNDS.items()):
        steps = np.rint(np.clip(real, *bounds) / scale) + (130)
        x = Input("x", ("TENSOR_QUANT8_ASYMM", [7], 0.5, 128))
        y = Input("y", ("TENSOR_QUANT8_ASYMM", [7], 0.125, 100))
        z = Output("z", ("TENSOR_QUANT8_ASYMM", [7], scale, 130))
        Model(operation.lower() + "_" + name).Operation(operation, x, y, code).To(z)
        Example({x: STEPS, y: OTHER, z: np.clip(steps, 0, 255).astype(int).tolist()})
