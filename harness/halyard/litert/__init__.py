# SPDX-License-Identifier: Apache-2.0
"""Halyard inside LiteRT's own runtime, or TFLite's: what a program of yours loads there.

from ai_edge_litert.interpreter import Interpreter
import halyard.litert

taken = halyard.litert.delegate(threads=4)
interpreter = Interpreter("model.tflite", experimental_delegates=[taken])

Or as the NPU of LiteRT 2:

npu = halyard.litert.environment(threads=4)
model = npu.compile("model.tflite").model
"""

from __future__ import annotations

from halyard.litert.external_delegate import delegate, delegate_library
from halyard.litert.npu_environment import (
    Compiled,
    Counts,
    Left,
    NotAccelerated,
    NpuEnvironment,
    counts,
    dispatch_library,
    environment,
    plugin_library,
)

__all__ = [
    "Compiled",
    "Counts",
    "Left",
    "NotAccelerated",
    "NpuEnvironment",
    "counts",
    "delegate",
    "delegate_library",
    "dispatch_library",
    "environment",
    "plugin_library",
]
