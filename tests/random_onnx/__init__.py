# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs around one operator each: of all operator sets, ranks, attributes and inputs
that are left out, of 8 bits too.

A graph follows from a seed and its number alone, so that it can be made again.
"""

from tests.random_onnx import composing, data_movement, elementwise, reduction, windowed  # noqa: F401
from tests.random_onnx.sketch import GENERATORS, RandomGraph, generate

__all__ = ["GENERATORS", "RandomGraph", "generate"]
