# SPDX-License-Identifier: Apache-2.0
"""The peers' runtimes, as the process that runs one of them sees it.

Nothing is imported before a runtime is made: what its package takes is no part of another's memory.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from halyard.errors import HalyardError
from halyard.model import Array

# Where Debian's Python packages lie, which another Python can load if it is of the same version.
_DEBIAN = "/usr/lib/python3/dist-packages"


class RuntimeMissing(HalyardError):
    """The runtime's package is not there, or does not load; the text says how to get it."""


class RuntimeRefused(HalyardError):
    """The runtime does not take the model."""


class Runtime(Protocol):
    """A model that is loaded. `inputs` are raw bytes, in the model's order."""

    def bind(self, inputs: Sequence[bytes]) -> None: ...

    def execute(self) -> None:
        """One inference, and nothing beside it: this is what is timed."""

    def outputs(self) -> list[Array]: ...


class Package(Protocol):
    """A runtime's Python package, imported."""

    version: str

    def load(self, path: Path, threads: int) -> Runtime:
        """RuntimeRefused where it does not take the model. This is what preparing is timed as."""


def package(name: str) -> Package:
    """RuntimeMissing where it can't be imported."""
    return _PACKAGES[name]()


# ---- LiteRT -------------------------------------------------------------------------------------


class _LiteRtPackage:
    def __init__(self) -> None:
        self._module = _import("ai_edge_litert.interpreter", "pip install ai-edge-litert")
        self.version = importlib.metadata.version("ai-edge-litert")

    def load(self, path: Path, threads: int) -> Runtime:
        try:
            # From a file it is mapped, as an app would have it.
            interpreter = self._module.Interpreter(model_path=str(path), num_threads=threads)
            interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise RuntimeRefused(str(error)) from error
        return _LiteRt(interpreter)


class _LiteRt:
    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter

    def bind(self, inputs: Sequence[bytes]) -> None:
        for detail, data in zip(self._interpreter.get_input_details(), inputs, strict=True):
            values = np.frombuffer(data, detail["dtype"]).reshape(detail["shape"])
            self._interpreter.set_tensor(detail["index"], values)

    def execute(self) -> None:
        self._interpreter.invoke()

    def outputs(self) -> list[Array]:
        details = self._interpreter.get_output_details()
        return [self._interpreter.get_tensor(detail["index"]) for detail in details]


# ---- ONNX Runtime -------------------------------------------------------------------------------

_ONNX_TYPES = {"tensor(float)": np.float32, "tensor(int32)": np.int32}


class _OnnxRuntimePackage:
    def __init__(self) -> None:
        self._module = _import("onnxruntime", "pip install onnxruntime")
        self.version = importlib.metadata.version("onnxruntime")

    def load(self, path: Path, threads: int) -> Runtime:
        options = self._module.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = self._module.GraphOptimizationLevel.ORT_ENABLE_ALL
        try:
            session = self._module.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise RuntimeRefused(str(error)) from error
        return _OnnxRuntime(self._module, session)


class _OnnxRuntime:
    """Inputs and outputs are bound once, so that nothing is copied while it is timed."""

    def __init__(self, module: Any, session: Any) -> None:
        self._module = module
        self._session = session
        self._binding = session.io_binding()
        self._held: list[Any] = []

    def bind(self, inputs: Sequence[bytes]) -> None:
        for info, data in zip(self._session.get_inputs(), inputs, strict=True):
            values = np.frombuffer(data, _ONNX_TYPES[info.type]).reshape(info.shape)
            held = self._module.OrtValue.ortvalue_from_numpy(values.copy())
            self._held.append(held)
            self._binding.bind_ortvalue_input(info.name, held)
        for info in self._session.get_outputs():
            held = self._module.OrtValue.ortvalue_from_shape_and_type(
                info.shape, _ONNX_TYPES[info.type]
            )
            self._held.append(held)
            self._binding.bind_ortvalue_output(info.name, held)

    def execute(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def outputs(self) -> list[Array]:
        return [value.numpy() for value in self._binding.get_outputs()]


# ---- Arm NN -------------------------------------------------------------------------------------

# In order of preference: Debian has CpuAcc on Arm alone.
_ARMNN_BACKENDS = ("CpuAcc", "CpuRef")

# By the major version of the library, which is what it tells.
_ARMNN_RELEASES = {"22": "20.08", "23": "20.11"}


class _ArmNnPackage:
    def __init__(self) -> None:
        hint = (
            "apt install python3-pyarmnn libarmnntfliteparser22 libarmnn-cpuref-backend22, for a "
            "Python of the same version as Debian's"
        )
        # Last, so that it lends nothing else than what is missing.
        sys.path.append(_DEBIAN)
        self._module = _import("pyarmnn", hint)
        if not hasattr(self._module, "ITfLiteParser"):
            raise RuntimeMissing(f"it has no TFLite parser: {hint}")
        version: str = self._module.__version__
        release = _ARMNN_RELEASES.get(version.partition(".")[0])
        self.version = f"{version} ({release})" if release else version

    def load(self, path: Path, threads: int) -> Runtime:  # noqa: ARG002 (it has no such option)
        module = self._module
        try:
            parser = module.ITfLiteParser()
            network = parser.CreateNetworkFromBinaryFile(str(path))
            runtime = module.IRuntime(module.CreationOptions())
            backends = [module.BackendId(name) for name in _ARMNN_BACKENDS]
            optimized, _ = module.Optimize(
                network, backends, runtime.GetDeviceSpec(), module.OptimizerOptions()
            )
            number, _ = runtime.LoadNetwork(optimized)
        except Exception as error:
            raise RuntimeRefused(str(error)) from error
        return _ArmNn(module, parser, runtime, number)


class _ArmNn:
    def __init__(self, module: Any, parser: Any, runtime: Any, number: int) -> None:
        self._module = module
        self._runtime = runtime
        self._number = number
        self._inputs = [
            parser.GetNetworkInputBindingInfo(0, name)
            for name in parser.GetSubgraphInputTensorNames(0)
        ]
        self._output_tensors = module.make_output_tensors(
            [
                parser.GetNetworkOutputBindingInfo(0, name)
                for name in parser.GetSubgraphOutputTensorNames(0)
            ]
        )
        self._input_tensors: Any = None

    def bind(self, inputs: Sequence[bytes]) -> None:
        types = {
            self._module.DataType_Float32: np.float32,
            self._module.DataType_QAsymmU8: np.uint8,
            self._module.DataType_QAsymmS8: np.int8,
            self._module.DataType_Signed32: np.int32,
        }
        arrays = [
            np.frombuffer(data, types[info.GetDataType()]).reshape(tuple(info.GetShape()))
            for (_, info), data in zip(self._inputs, inputs, strict=True)
        ]
        self._input_tensors = self._module.make_input_tensors(self._inputs, arrays)

    def execute(self) -> None:
        self._runtime.EnqueueWorkload(self._number, self._input_tensors, self._output_tensors)

    def outputs(self) -> list[Array]:
        return [*self._module.workload_tensors_to_ndarray(self._output_tensors)]


_PACKAGES: dict[str, Callable[[], Package]] = {
    "litert": _LiteRtPackage,
    "onnxruntime": _OnnxRuntimePackage,
    "armnn": _ArmNnPackage,
}


def _import(name: str, hint: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        there = importlib.util.find_spec(name.partition(".")[0]) is not None
        reason = f"it does not load ({error})" if there else "it is not installed"
        raise RuntimeMissing(f"{reason}: {hint}") from error
