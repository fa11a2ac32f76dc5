# SPDX-License-Identifier: Apache-2.0
"""A second opinion on NNAPI: its operations in numpy, written from the published contract.

Of the driver it takes nothing but the names of operands, and their order. Real numbers are float64,
or float32 where a network is calibrated; a quantised tensor is the real numbers that it stands for,
and a result is rounded once, to its output's type. It is written to be read, and does not validate:
what it is given is a valid model.
"""

from halyard.reference.interpreter import evaluate, operations, run, trace
from halyard.reference.tensor import NotInReference, Tensor

__all__ = ["NotInReference", "Tensor", "evaluate", "operations", "run", "trace"]
