# SPDX-License-Identifier: Apache-2.0
"""Arm NN, as Debian packages it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard.engines.engine import EngineMissing, EngineRefused, Library, Loaded, Shapes
from halyard.engines.in_process import imported, timed
from halyard.model import Array, TensorInfo, Tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halyard.engines.workload import Workload

# Where Debian's Python packages lie, which another Python can load if it is of the same version.
_DEBIAN = "/usr/lib/python3/dist-packages"

_HINT = (
    "apt install python3-pyarmnn libarmnntfliteparser22 libarmnn-cpuref-backend22, for a "
    "Python of the same version as Debian's"
)

# In order of preference: Debian has CpuAcc on Arm alone.
_BACKENDS = ("CpuAcc", "CpuRef")

# By the major version of the library, which is what it tells.
_RELEASES = {"22": "20.08", "23": "20.11"}


class ArmNn(Library):
    """It can't be told how many threads to use."""

    title = "Arm NN"

    def __init__(self, threads: int = 1) -> None:
        if threads != 1:
            raise EngineRefused("it can't be told how many threads to use")
        # Last, so that it lends nothing else than what is missing.
        sys.path.append(_DEBIAN)
        self._module: Any = imported("pyarmnn", _HINT)
        if not hasattr(self._module, "ITfLiteParser"):
            raise EngineMissing(f"it has no TFLite parser: {_HINT}")
        version: str = self._module.__version__
        release = _RELEASES.get(version.partition(".")[0])
        self.version = f"{version} ({release})" if release else version

    def load(self, path: Path, shapes: Shapes = ()) -> _Network:
        module = self._module
        try:
            parser = module.ITfLiteParser()
            network = parser.CreateNetworkFromBinaryFile(str(path))
            runtime = module.IRuntime(module.CreationOptions())
            backends = [module.BackendId(name) for name in _BACKENDS]
            optimized, _ = module.Optimize(
                network, backends, runtime.GetDeviceSpec(), module.OptimizerOptions()
            )
            number, _ = runtime.LoadNetwork(optimized)
        # Its exceptions have no class of their own in common.
        except Exception as error:
            raise EngineRefused(f"Arm NN does not take the model: {error}") from error
        loaded = _Network(module, parser, runtime, number)
        if shapes and [tuple(each.shape) for each in loaded.tensors.inputs] != list(shapes):
            raise EngineRefused("Arm NN has inputs of the shapes in the file, and of no others")
        return loaded

    def prepare(self, work: Workload) -> _Network:
        loaded = self.load(work.tflite(), work.shapes)
        loaded.bind([array.tobytes() for array in work.inputs])
        return loaded


class _Network(Loaded):
    def __init__(self, module: Any, parser: Any, runtime: Any, number: int) -> None:
        self._module = module
        self._runtime = runtime
        self._number = number
        inputs = parser.GetSubgraphInputTensorNames(0)
        outputs = parser.GetSubgraphOutputTensorNames(0)
        self._inputs = [parser.GetNetworkInputBindingInfo(0, name) for name in inputs]
        self._outputs = [parser.GetNetworkOutputBindingInfo(0, name) for name in outputs]
        self._tensors = Tensors(
            tuple(map(self._info, inputs, self._inputs)),
            tuple(map(self._info, outputs, self._outputs)),
        )
        self._output_tensors = module.make_output_tensors(self._outputs)
        self._input_tensors: Any = None

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def _info(self, name: str, binding: Any) -> TensorInfo:
        types = {
            self._module.DataType_Float32: np.float32,
            self._module.DataType_QAsymmU8: np.uint8,
            self._module.DataType_QAsymmS8: np.int8,
            self._module.DataType_Signed32: np.int32,
        }
        _, info = binding
        dtype = np.dtype(types[info.GetDataType()])
        scale = info.GetQuantizationScale() if info.IsQuantized() else 0.0
        zero_point = info.GetQuantizationOffset() if info.IsQuantized() else 0
        return TensorInfo(name, dtype, tuple(info.GetShape()), scale, zero_point)

    def bind(self, inputs: Sequence[bytes]) -> None:
        arrays = [
            np.frombuffer(data, info.dtype).reshape(info.shape)
            for info, data in zip(self.tensors.inputs, inputs, strict=True)
        ]
        self._input_tensors = self._module.make_input_tensors(self._inputs, arrays)

    def run(self) -> list[Array]:
        self.execute()
        found = self._module.workload_tensors_to_ndarray(self._output_tensors)
        return [np.array(values) for values in found]

    def execute(self) -> None:
        self._runtime.EnqueueWorkload(self._number, self._input_tensors, self._output_tensors)

    def time(self, count: int, warmup: int = 0) -> list[int]:
        return timed(self.execute, count, warmup)
