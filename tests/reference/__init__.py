# SPDX-License-Identifier: Apache-2.0
"""A second opinion on NNAPI: its operations in numpy, written from the published contract.

Nothing here is shared with the engine. Real numbers are float64; a quantised tensor is the real
numbers that it stands for, and a result is rounded once, to its output's type. It is written to be
read, and does not validate: what it is given is a valid model.
"""

from tests.reference.interpreter import operations, run
from tests.reference.tensor import NotInReference, Tensor

__all__ = ["NotInReference", "Tensor", "operations", "run"]
