# SPDX-License-Identifier: Apache-2.0
"""The engines that are Python packages, by name.

Nothing is imported before one is made: what its package takes is no part of another's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from halyard.engines.arm_nn import ArmNn
from halyard.engines.engine import Library
from halyard.engines.litert import LiteRt
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.engines.pytorch import WAYS, PyTorch

_LIBRARIES: Mapping[str, Callable[[int], Library]] = {
    "litert": LiteRt,
    "onnxruntime": OnnxRuntime,
    "armnn": ArmNn,
    **{way.name: partial(PyTorch, way=way) for way in WAYS},
}


def library(name: str, threads: int = 1) -> Library:
    """EngineMissing where it can't be imported."""
    return _LIBRARIES[name](threads)
