# SPDX-License-Identifier: Apache-2.0
"""LiteRT's runtime through its C interface: what its Python does not hand out, such as the cache of
compiled models, options of vendors, runs with events and metrics."""

from __future__ import annotations

import ctypes
import select
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest

import halyard.litert
from halyard.errors import ProgramMissing
from halyard.model import Array

# What there is room for in a type, in bytes (litert_abi.json).
_TYPE_BYTES = 72
_MOST_RANK = 8
_HOST_MEMORY = 1
_READ, _WRITE = 0, 1
_CPU, _NPU = 1, 4
_PLUGINS, _DISPATCH, _CACHE, _RUNTIME = 0, 1, 18, 22
_INT, _TEXT = 2, 8
_ELEMENTS = {
    1: np.float32,
    2: np.int32,
    3: np.uint8,
    4: np.int64,
    6: np.bool_,
    7: np.int16,
    9: np.int8,
    10: np.float16,
}


class _Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("value", ctypes.c_uint64)]


# Tag, padding, and a value that begins at a multiple of 8.
class _Option(ctypes.Structure):
    _fields_ = [
        ("tag", ctypes.c_int32),
        ("type", ctypes.c_int64),
        ("value", ctypes.c_char_p),
    ]


class _Metric(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", _Any)]


class RankedType(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_int32),
        ("rank", ctypes.c_uint32),  # of 7 bits, and one for strides
        ("extents", ctypes.c_int32 * _MOST_RANK),
        ("strides", ctypes.c_uint32 * _MOST_RANK),
    ]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents[: self.rank & 0x7F])

    def set_shape(self, shape: Sequence[int]) -> None:
        self.rank = len(shape)
        self.extents[: len(shape)] = list(shape)

    @property
    def dtype(self) -> Any:
        return np.dtype(_ELEMENTS[self.element])

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * int(self.dtype.itemsize)


class RuntimeRefused(Exception):
    """A status of LiteRT's."""


class ModelRefused(RuntimeRefused):
    """Of a model that LiteRT 2 does not load for any processor: those with variables."""


class Runtime:
    """The library of the package, with an environment whose NPU is Halyard."""

    def __init__(
        self,
        *,
        cache: Path | None = None,
        plugins: Path | None = None,
        dispatch: Path | None = None,
    ) -> None:
        package = pytest.importorskip("ai_edge_litert")
        folder = Path(package.__file__).parent
        try:
            plugins = plugins or halyard.litert.plugin_library().parent
            dispatch = dispatch or halyard.litert.dispatch_library().parent
        except ProgramMissing as error:
            pytest.skip(str(error))
        path = folder / "libLiteRt.so"
        if not path.exists():
            pytest.skip(f"{path} is not there")
        self._library = ctypes.CDLL(str(path))
        given = {_PLUGINS: plugins, _DISPATCH: dispatch, _RUNTIME: folder}
        if cache is not None:
            given[_CACHE] = cache
        options = (_Option * len(given))()
        for entry, (tag, value) in zip(options, given.items(), strict=True):
            entry.tag, entry.type, entry.value = tag, _TEXT, str(value).encode()
        self.handle = ctypes.c_void_p()
        self.call("LiteRtCreateEnvironment", len(given), options, ctypes.byref(self.handle))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.destroy("Environment", self.handle)

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise RuntimeRefused(f"{function}: {status}")

    def destroy(self, kind: str, handle: ctypes.c_void_p) -> None:
        function = getattr(self._library, f"LiteRtDestroy{kind}")
        function.restype = None
        function(handle)

    def get(self, function: str, *arguments: Any, of: Any = ctypes.c_void_p) -> Any:
        """What is written to the last argument."""
        value = of()
        self.call(function, *arguments, ctypes.byref(value))
        return value

    def compile(self, content: bytes, options: str | None = None, *, cpu: bool = True) -> HostModel:
        return HostModel(self, content, options, cpu=cpu)


class HostModel:
    """A compiled model with buffers of LiteRT's for its inputs and outputs."""

    def __init__(self, runtime: Runtime, content: bytes, options: str | None, *, cpu: bool) -> None:
        self._runtime = runtime
        self._content = content  # LiteRT keeps its address
        self._options_text = (
            None if options is None else ctypes.create_string_buffer(options.encode())
        )
        self._owned: list[tuple[str, ctypes.c_void_p]] = []
        try:
            self._create(_NPU | (_CPU if cpu else 0))
        except RuntimeRefused:
            self.close()
            raise

    def _create(self, accelerators: int) -> None:
        runtime = self._runtime
        try:
            model = runtime.get(
                "LiteRtCreateModelFromBuffer",
                runtime.handle,
                self._content,
                ctypes.c_size_t(len(self._content)),
            )
        except RuntimeRefused as error:
            raise ModelRefused(str(error)) from error
        self._owned.append(("Model", model))
        options = runtime.get("LiteRtCreateOptions")
        self._owned.append(("Options", options))
        runtime.call("LiteRtSetOptionsHardwareAccelerators", options, accelerators)
        if self._options_text is not None:
            opaque = runtime.get("LiteRtCreateOpaqueOptions", b"halyard", self._options_text, _KEEP)
            runtime.call("LiteRtAddOpaqueOptions", options, opaque)
        signature = runtime.get("LiteRtGetModelSignature", model, ctypes.c_size_t(0))
        types = {side: self._types(signature, side) for side in ("Input", "Output")}
        self._compiled = runtime.get("LiteRtCreateCompiledModel", runtime.handle, model, options)
        self._owned.append(("CompiledModel", self._compiled))
        for kind in (*types["Input"], *types["Output"]):
            kind.set_shape([max(1, extent) for extent in kind.shape])
        self.inputs = [self._buffer(each) for each in types["Input"]]
        self.outputs = [self._buffer(each) for each in types["Output"]]
        self.input_types, self.output_types = types["Input"], types["Output"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for kind, handle in reversed(self._owned):
            self._runtime.destroy(kind, handle)
        self._owned = []

    def _types(self, signature: ctypes.c_void_p, side: str) -> list[RankedType]:
        runtime = self._runtime
        count = runtime.get(f"LiteRtGetNumSignature{side}s", signature, of=ctypes.c_size_t).value
        return [
            runtime.get(
                "LiteRtGetRankedTensorType",
                runtime.get(
                    f"LiteRtGetSignature{side}TensorByIndex", signature, ctypes.c_size_t(index)
                ),
                of=RankedType,
            )
            for index in range(count)
        ]

    def _buffer(self, kind: RankedType) -> ctypes.c_void_p:
        buffer = self._runtime.get(
            "LiteRtCreateManagedTensorBuffer",
            self._runtime.handle,
            _HOST_MEMORY,
            ctypes.byref(kind),
            ctypes.c_size_t(max(kind.size, 1)),
        )
        self._owned.append(("TensorBuffer", buffer))
        return ctypes.c_void_p(buffer.value)

    def resize(self, index: int, shape: Sequence[int], outputs: Sequence[Sequence[int]]) -> None:
        """Another shape for an input, and buffers for it and for the outputs, whose shapes LiteRT
        does not find: between it and them is an operator that it knows nothing of."""
        extents = (ctypes.c_int32 * len(shape))(*shape)
        self._runtime.call(
            "LiteRtCompiledModelResizeInputTensorNonStrict",
            self._compiled,
            ctypes.c_size_t(0),
            ctypes.c_size_t(index),
            extents,
            ctypes.c_size_t(len(shape)),
        )
        self.input_types[index].set_shape(shape)
        self.inputs[index] = self._buffer(self.input_types[index])
        for kind, each in zip(self.output_types, outputs, strict=True):
            kind.set_shape(each)
        self.outputs = [self._buffer(each) for each in self.output_types]

    def write(self, inputs: Sequence[Array]) -> None:
        for buffer, values in zip(self.inputs, inputs, strict=True):
            address = self._locked(buffer, _WRITE)
            found = np.ascontiguousarray(values)
            ctypes.memmove(address, found.ctypes.data, found.nbytes)
            self._runtime.call("LiteRtUnlockTensorBuffer", buffer)

    def read(self) -> list[Array]:
        """Waits for a run that is under way."""
        found = []
        for buffer, kind in zip(self.outputs, self.output_types, strict=True):
            content = ctypes.string_at(self._locked(buffer, _READ), kind.size)
            self._runtime.call("LiteRtUnlockTensorBuffer", buffer)
            found.append(np.frombuffer(content, kind.dtype).reshape(kind.shape))
        return found

    def _locked(self, buffer: ctypes.c_void_p, mode: int) -> Any:
        address = ctypes.c_void_p()
        self._runtime.call("LiteRtLockTensorBuffer", buffer, ctypes.byref(address), mode)
        return address

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        self.write(inputs)
        self._clear_events()
        self._runtime.call("LiteRtRunCompiledModel", *self._run_arguments())
        return self.read()

    def start(self, inputs: Sequence[Array] | None = None) -> bool:
        """Whether the run is asynchronous. read() waits for it."""
        if inputs is not None:
            self.write(inputs)
        self._clear_events()
        is_later = self._runtime.get(
            "LiteRtRunCompiledModelAsync", *self._run_arguments(), of=ctypes.c_bool
        )
        return bool(is_later.value)

    def _clear_events(self) -> None:
        """LiteRT takes no outputs that have them from a run before."""
        for buffer in self.outputs:
            if self.event(buffer) is not None:
                self._runtime.call("LiteRtClearTensorBufferEvent", buffer)

    def event(self, buffer: ctypes.c_void_p) -> ctypes.c_void_p | None:
        """The buffer's."""
        if not self._runtime.get("LiteRtHasTensorBufferEvent", buffer, of=ctypes.c_bool).value:
            return None
        found: ctypes.c_void_p = self._runtime.get("LiteRtGetTensorBufferEvent", buffer)
        return found

    def is_done(self, patience: float) -> bool:
        """Whether a run that was started ends within so many seconds."""
        event = self.event(self.outputs[0])
        fence = self._runtime.get("LiteRtGetEventSyncFenceFd", event, of=ctypes.c_int32)
        return bool(select.select([fence.value], [], [], patience)[0])

    def wait_for_descriptor(self, index: int, descriptor: int) -> None:
        """Has the next run wait until a descriptor, which is closed then, can be read."""
        event = self._runtime.get(
            "LiteRtCreateEventFromSyncFenceFd",
            self._runtime.handle,
            descriptor,
            ctypes.c_bool(True),
        )
        self._runtime.call("LiteRtSetTensorBufferEvent", self.inputs[index], event)

    def _run_arguments(self) -> tuple[Any, ...]:
        return (
            self._compiled,
            ctypes.c_size_t(0),
            ctypes.c_size_t(len(self.inputs)),
            (ctypes.c_void_p * len(self.inputs))(*self.inputs),
            ctypes.c_size_t(len(self.outputs)),
            (ctypes.c_void_p * len(self.outputs))(*self.outputs),
        )

    def start_metrics(self) -> None:
        self._runtime.call("LiteRtCompiledModelStartMetricsCollection", self._compiled, 0)

    def stop_metrics(self) -> dict[str, int]:
        runtime = self._runtime
        metrics = runtime.get("LiteRtCreateMetrics")
        try:
            runtime.call("LiteRtCompiledModelStopMetricsCollection", self._compiled, metrics)
            found = {}
            for index in range(
                runtime.get("LiteRtGetNumMetrics", metrics, of=ctypes.c_int32).value
            ):
                metric = runtime.get("LiteRtGetMetric", metrics, index, of=_Metric)
                assert metric.value.type == _INT
                found[metric.name.decode()] = int(metric.value.value)
            return found
        finally:
            runtime.destroy("Metrics", metrics)


# Called where LiteRT lets go of options: their text is Python's.
_KEEP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
