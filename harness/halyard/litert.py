# SPDX-License-Identifier: Apache-2.0
"""LiteRT, the successor of TFLite's runtime, as an optional peer."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard.errors import HalyardError
from halyard.model import Array

if TYPE_CHECKING:
    from types import ModuleType


MISSING = "LiteRT is not installed: pip install 'halyard[peers]' (or ai-edge-litert)"


class LiteRtMissing(HalyardError):
    """The package ai-edge-litert is not installed."""


class LiteRtRefused(HalyardError):
    """LiteRT does not take a model, or its inputs."""


class Kernels(enum.Enum):
    """Which of LiteRT's kernels compute a model.

    They do not agree to the last step on quantised models: the integer kernels of XNNPACK round a
    rescaled sum once, as Halyard does, those of REFERENCE in two fixed-point steps.
    """

    XNNPACK = "AUTO"
    REFERENCE = "BUILTIN_REF"


class LiteRt:
    """A model loaded into LiteRT. Not thread-safe."""

    def __init__(
        self, model: bytes, threads: int = 1, *, kernels: Kernels = Kernels.XNNPACK
    ) -> None:
        """`model` is a .tflite file. LiteRtRefused where LiteRT does not take it."""
        module = _interpreter_module()
        try:
            self._interpreter: Any = module.Interpreter(
                model_content=model,
                num_threads=threads,
                experimental_op_resolver_type=module.OpResolverType[kernels.value],
            )
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise LiteRtRefused(f"LiteRT does not take the model: {error}") from error
        self._inputs = [detail["index"] for detail in self._interpreter.get_input_details()]
        self._outputs = [detail["index"] for detail in self._interpreter.get_output_details()]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs, as new arrays, from states of zero. LiteRtRefused where the inputs are not
        the model's."""
        try:
            for index, values in zip(self._inputs, inputs, strict=True):
                self._interpreter.set_tensor(index, values)
            # The states of recurrent operators would go on where the last run left them.
            self._interpreter.reset_all_variables()
            self._interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise LiteRtRefused(f"LiteRT does not run the model: {error}") from error
        return [np.array(self._interpreter.get_tensor(index)) for index in self._outputs]


def available() -> bool:
    try:
        _interpreter_module()
    except LiteRtMissing:
        return False
    return True


def _interpreter_module() -> ModuleType:
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        raise LiteRtMissing(MISSING) from error
    module: ModuleType = interpreter
    return module
