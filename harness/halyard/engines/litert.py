# SPDX-License-Identifier: Apache-2.0
"""LiteRT, the successor of TFLite's runtime."""

from __future__ import annotations

import enum
import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard.engines.engine import EngineMissing, EngineRefused, Library, Loaded, Shapes
from halyard.engines.in_process import imported, timed, without_chatter
from halyard.model import Array, TensorInfo, Tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halyard.engines.workload import Workload

_HINT = "pip install 'halyard[peers]' (or ai-edge-litert)"
MISSING = f"LiteRT is not installed: {_HINT}"


class Kernels(enum.Enum):
    """Which of LiteRT's kernels compute a model.

    They do not agree to the last step on quantised models: the integer kernels of XNNPACK round a
    rescaled sum once, as Halyard does, those of REFERENCE in two fixed-point steps.
    """

    XNNPACK = "AUTO"
    REFERENCE = "BUILTIN_REF"


class LiteRt(Library):
    title = "LiteRT"

    def __init__(self, threads: int = 1, *, kernels: Kernels = Kernels.XNNPACK) -> None:
        self._module: Any = imported("ai_edge_litert.interpreter", _HINT)
        self._threads = threads
        self._kernels = kernels
        self.version = importlib.metadata.version("ai-edge-litert")

    def load(self, path: Path, shapes: Shapes = ()) -> _Interpreter:
        """A .tflite file, which is mapped, as an app would have it."""
        delegates = self._delegates()
        try:
            # It tells of its delegate, in the midst of what a command shows.
            with without_chatter():
                interpreter = self._module.Interpreter(
                    model_path=str(path),
                    num_threads=self._threads,
                    experimental_op_resolver_type=self._module.OpResolverType[self._kernels.value],
                    experimental_delegates=delegates,
                )
                for detail, shape in zip(
                    interpreter.get_input_details(), shapes, strict=bool(shapes)
                ):
                    if tuple(detail["shape"]) != shape:
                        interpreter.resize_tensor_input(detail["index"], shape)
                interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise EngineRefused(f"LiteRT does not take the model: {error}") from error
        return _Interpreter(interpreter)

    def tensors(self, path: Path) -> Tensors:
        """A file's, without having it ready to run. EngineRefused where it is no such file."""
        try:
            plain = self._module.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            interpreter = self._module.Interpreter(
                model_path=str(path), experimental_op_resolver_type=plain
            )
        except (RuntimeError, ValueError) as error:
            raise EngineRefused(f"LiteRT does not take the model: {error}") from error
        inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
        return Tensors(tuple(map(_info, inputs)), tuple(map(_info, outputs)))

    def _delegates(self) -> list[Any] | None:
        """Of each model's own, before XNNPACK is offered it."""
        return None

    def otherwise(self) -> LiteRt | None:
        is_reference = self._kernels is Kernels.REFERENCE
        kernels = Kernels.XNNPACK if is_reference else Kernels.REFERENCE
        return LiteRt(self._threads, kernels=kernels)

    def prepare(self, work: Workload) -> _Interpreter:
        loaded = self.load(work.tflite(), work.shapes)
        loaded.bind([array.tobytes() for array in work.inputs])
        return loaded


class _Interpreter(Loaded):
    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter
        self._inputs = interpreter.get_input_details()
        self._outputs = interpreter.get_output_details()

    @property
    def tensors(self) -> Tensors:
        return Tensors(tuple(map(_info, self._inputs)), tuple(map(_info, self._outputs)))

    def bind(self, inputs: Sequence[bytes]) -> None:
        try:
            for detail, data in zip(self._inputs, inputs, strict=True):
                values = np.frombuffer(data, detail["dtype"]).reshape(detail["shape"])
                self._interpreter.set_tensor(detail["index"], values)
        except (RuntimeError, ValueError) as error:
            raise EngineRefused(f"LiteRT does not take the inputs: {error}") from error

    def run(self) -> list[Array]:
        # The states of recurrent operators would go on where the last run left them.
        self._interpreter.reset_all_variables()
        self.execute()
        return [np.array(self._interpreter.get_tensor(each["index"])) for each in self._outputs]

    def execute(self) -> None:
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise EngineRefused(f"LiteRT does not run the model: {error}") from error

    def time(self, count: int, warmup: int = 0) -> list[int]:
        return timed(self.execute, count, warmup)


def _info(detail: dict[str, Any]) -> TensorInfo:
    scale, zero_point = detail["quantization"]
    shape = tuple(int(extent) for extent in detail["shape"])
    return TensorInfo(detail["name"], np.dtype(detail["dtype"]), shape, scale, zero_point)


def available() -> bool:
    try:
        LiteRt()
    except EngineMissing:
        return False
    return True
