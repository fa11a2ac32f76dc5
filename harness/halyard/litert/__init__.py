# SPDX-License-Identifier: Apache-2.0
"""Halyard inside LiteRT's own runtime, or TFLite's: what a program of yours loads there.

from ai_edge_litert.interpreter import Interpreter
import halyard.litert

taken = halyard.litert.delegate(threads=4)
interpreter = Interpreter("model.tflite", experimental_delegates=[taken])
"""

from __future__ import annotations

from halyard.litert.external_delegate import delegate, delegate_library

__all__ = ["delegate", "delegate_library"]
