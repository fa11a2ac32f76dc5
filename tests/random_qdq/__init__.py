# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs of 8 bits, as quantisers write them: QuantizeLinear and DequantizeLinear
around each operator, constant weights of 8 bits with a scale for all or for each channel, and a
bias of 32.

A graph follows from a seed and its number alone. It is a chain of up to three operators, of which
each is judged by itself: a reference is given what came out of the one before, so that a value may
be a step off and no more.
"""

from tests.random_qdq import stages  # noqa: F401
from tests.random_qdq.sketch import STAGES, QuantizedGraph, generate

__all__ = ["STAGES", "QuantizedGraph", "generate"]
