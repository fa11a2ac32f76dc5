# SPDX-License-Identifier: Apache-2.0
"""The engines that are Python packages, by name.

Nothing is imported before one is made: what its package takes is no part of another's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from halyard.devices.inside_litert import Door
from halyard.engines.arm_nn import ArmNn
from halyard.engines.engine import Library
from halyard.engines.litert import LiteRt
from halyard.engines.litert_delegate import LiteRtDelegate
from halyard.engines.litert_npu import LiteRtNpu
from halyard.engines.litert_options import LiteRtOptions
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.engines.pytorch import WAYS, PyTorch

_LIBRARIES: Mapping[str, Callable[[int], Library]] = {
    "litert": LiteRt,
    "onnxruntime": OnnxRuntime,
    "armnn": ArmNn,
    **{way.name: partial(PyTorch, way=way) for way in WAYS},
}

# Halyard in LiteRT, by each door. They write the report that their options ask for.
_DOORS: Mapping[Door, Callable[[int, LiteRtOptions], Library]] = {
    "litert-delegate": LiteRtDelegate,
    "litert-npu": LiteRtNpu,
}


def library(name: str, threads: int = 1, options: str = "") -> Library:
    """EngineMissing where it can't be imported. `options`: of Halyard in LiteRT, as their encode()
    gives them."""
    for door, engine in _DOORS.items():
        if name == door:
            return engine(threads, LiteRtOptions.decode(options))
    return _LIBRARIES[name](threads)
