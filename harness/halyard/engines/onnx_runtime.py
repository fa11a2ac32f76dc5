# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime, on its CPU provider."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard.engines.engine import EngineRefused, Library, Loaded, Shapes
from halyard.engines.in_process import imported, timed
from halyard.model import Array, TensorInfo, Tensors
from halyard.model.fitting import fitted
from halyard.model.tensors import OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halyard.engines.workload import Workload

_TYPES = {
    "tensor(bool)": np.bool_,
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int16)": np.int16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(int8)": np.int8,
    "tensor(uint16)": np.uint16,
    "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64,
    "tensor(uint8)": np.uint8,
}


class OnnxRuntime(Library):
    """`as_written`: an operator between DequantizeLinear and QuantizeLinear computes with real
    numbers, as the file says. Else ONNX Runtime has 8-bit kernels of its own for some, which round
    in other places: a softmax of steps of 1/256, for instance. `optimised`: with all of its graph
    optimisations, or with none."""

    title = "ONNX Runtime"

    def __init__(
        self, threads: int = 1, *, as_written: bool = False, optimised: bool = True
    ) -> None:
        self._module: Any = imported("onnxruntime", "pip install onnxruntime")
        self._threads = threads
        self._as_written = as_written
        self._optimised = optimised
        self.version = importlib.metadata.version("onnxruntime")

    def load(self, path: Path, shapes: Shapes = ()) -> _Session:
        options = self._module.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # Errors alone: its hints about a file are of no use to who brings it, such as a line for
        # each initializer that no node reads.
        options.log_severity_level = 3
        level = "ORT_ENABLE_ALL" if self._optimised else "ORT_DISABLE_ALL"
        options.graph_optimization_level = getattr(self._module.GraphOptimizationLevel, level)
        if self._as_written:
            options.add_session_config_entry("session.disable_quant_qdq", "1")
        try:
            session = self._module.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        # Its exceptions have no class of their own in common.
        except Exception as error:
            raise EngineRefused(f"ONNX Runtime does not take the model: {error}") from error
        return _Session(self._module, session, shapes)

    def otherwise(self) -> OnnxRuntime:
        return OnnxRuntime(
            self._threads, as_written=self._as_written, optimised=not self._optimised
        )

    def prepare(self, work: Workload) -> _Session:
        loaded = self.load(work.onnx(), work.shapes)
        loaded.bind([array.tobytes() for array in work.inputs])
        return loaded


class _Session(Loaded):
    """Inputs and outputs are bound once, so that nothing is copied while it is timed."""

    def __init__(self, module: Any, session: Any, shapes: Shapes) -> None:
        self._module = module
        self._shapes = shapes
        self._session = session
        self._binding = session.io_binding()
        self._held: list[Any] = []
        self._is_contradicted = False  # the file, by the shapes that outputs come to have

    @property
    def tensors(self) -> Tensors:
        inputs = tuple(map(_info, self._session.get_inputs()))
        if self._shapes:
            inputs = tuple(
                replace(info, shape=shape) for info, shape in zip(inputs, self._shapes, strict=True)
            )
        return Tensors(inputs, tuple(map(_info, self._session.get_outputs())))

    def bind(self, inputs: Sequence[bytes]) -> None:
        infos = self.tensors.inputs
        try:
            self._bind(
                [
                    np.frombuffer(data, info.dtype).reshape(info.shape).copy()
                    for info, data in zip(infos, inputs, strict=True)
                ]
            )
        except ValueError as error:
            raise EngineRefused(f"ONNX Runtime does not take the inputs: {error}") from error
        for value in self._session.get_outputs():
            if not _is_closed(value):
                self._binding.bind_output(value.name)
                continue
            info = _info(value)
            held = self._module.OrtValue.ortvalue_from_shape_and_type(info.shape, info.dtype.type)
            self._held.append(held)
            self._binding.bind_ortvalue_output(info.name, held)

    def feed(self, inputs: Sequence[Array]) -> None:
        """Where the file leaves an extent open the arrays' own counts. Outputs have the shapes that
        they come to have, whatever the file says."""
        fitting = []
        for value, given in zip(self._session.get_inputs(), inputs, strict=True):
            info = _info(value)
            if not _is_closed(value):
                info = replace(info, shape=(OPEN,))
            fitting.append(fitted(given, info))
        self._bind(fitting)
        self._give_outputs_no_places()

    def _give_outputs_no_places(self) -> None:
        for value in self._session.get_outputs():
            self._binding.bind_output(value.name)

    def _bind(self, inputs: Sequence[Array]) -> None:
        for value, values in zip(self._session.get_inputs(), inputs, strict=True):
            held = self._module.OrtValue.ortvalue_from_numpy(values)
            self._held.append(held)
            self._binding.bind_ortvalue_input(value.name, held)

    def run(self) -> list[Array]:
        self.execute()
        return [np.array(value.numpy()) for value in self._binding.get_outputs()]

    def execute(self) -> None:
        try:
            self._run()
        except RuntimeError as error:
            if self._is_contradicted:
                raise EngineRefused(f"ONNX Runtime does not run the model: {error}") from error
            # Where there is a place for an output, of the file's shape or of an earlier run, ONNX
            # Runtime holds the file to what it says, and else it does not.
            self._is_contradicted = True
            self.execute()

    def _run(self) -> None:
        if self._is_contradicted:
            self._give_outputs_no_places()
        self._session.run_with_iobinding(self._binding)

    def time(self, count: int, warmup: int = 0) -> list[int]:
        return timed(self.execute, count, warmup)


def _is_closed(value: Any) -> bool:
    """ONNX Runtime says nothing of the shape of a number and of what has a shape of any rank."""
    return bool(value.shape) and all(isinstance(extent, int) for extent in value.shape)


def _info(value: Any) -> TensorInfo:
    """EngineRefused for what has no numbers. A dimension that the file leaves open is one, unless
    somebody says what it is."""
    if value.type not in _TYPES:
        raise EngineRefused(f"{value.name!r} is a {value.type}, which is no tensor of numbers")
    shape = tuple(extent if isinstance(extent, int) else 1 for extent in value.shape)
    return TensorInfo(value.name, np.dtype(_TYPES[value.type]), shape)
