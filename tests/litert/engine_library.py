# SPDX-License-Identifier: Apache-2.0
"""libhalyard on .tflite files, through its C interface: the engine's own results, with no runtime
around them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest

from halyard.errors import ProgramMissing
from halyard.model import Array
from halyard.programs import native

_RANK = 16
_MESSAGE = 256
_DTYPES = {
    "FLOAT32": np.float32,
    "FLOAT16": np.float16,
    "INT32": np.int32,
    "BOOL8": np.bool_,
    "QUANT8_ASYMM": np.uint8,
    "QUANT8_ASYMM_SIGNED": np.int8,
    "QUANT16_SYMM": np.int16,
}


class _Message(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * _MESSAGE)]


class _Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("extents", ctypes.c_int32 * _RANK)]

    def list(self) -> list[int]:
        return [int(self.extents[axis]) for axis in range(max(0, self.rank))]


class _RuntimeOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("permissions", ctypes.c_uint32),
        ("backends", ctypes.c_char_p),
        ("backend_directory", ctypes.c_char_p),
        ("log", ctypes.c_void_p),
        ("log_context", ctypes.c_void_p),
        ("log_level", ctypes.c_int32),
        ("threads", ctypes.c_uint32),
        ("executor", ctypes.c_void_p),
        ("memory_limit", ctypes.c_uint64),
    ]


class _Constant(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("data", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("release", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("memory", ctypes.c_void_p),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("zero_point", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", _Shape),
        ("scale", ctypes.c_float),
        ("alignment", ctypes.c_uint32),
        ("size", ctypes.c_size_t),
    ]


class _Input(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("shape", _Shape)]


class _Output(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("capacity", ctypes.c_size_t),
        ("unwanted", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("shape", _Shape),
        ("size", ctypes.c_size_t),
    ]


class EngineError(Exception):
    """The library's own words."""


class EngineLibrary:
    """The library of the build, with CpuAcc and behind it CpuRef, on the calling thread."""

    def __init__(self) -> None:
        try:
            path = native.library("libhalyard.so")
        except ProgramMissing as error:
            pytest.skip(str(error))
        self._library = ctypes.CDLL(str(path))
        for name in ("input", "output"):
            getattr(self._library, f"halyard_program_{name}_count").restype = ctypes.c_size_t
        self._runtime = ctypes.c_void_p()
        options = _RuntimeOptions(backends=b"CpuAcc", threads=1)
        options.struct_size = ctypes.sizeof(options)
        self.call("halyard_runtime_create", ctypes.byref(options), ctypes.byref(self._runtime))

    def call(self, function: str, *arguments: Any) -> None:
        message = _Message()
        if getattr(self._library, function)(*arguments, ctypes.byref(message)):
            raise EngineError(message.text.decode())

    def release(self, kind: str, handle: ctypes.c_void_p) -> None:
        getattr(self._library, f"halyard_{kind}_release")(handle)

    def count(self, kind: str, program: ctypes.c_void_p) -> int:
        return int(getattr(self._library, f"halyard_program_{kind}_count")(program))

    def program(self, content: bytes) -> EngineProgram:
        """Of a .tflite file: EngineError where the importer or the engine refuses it."""
        return EngineProgram(self, self._runtime, content)


class EngineProgram:
    """A compiled file. What its variables hold goes from run to run, zeros first."""

    def __init__(self, library: EngineLibrary, runtime: ctypes.c_void_p, content: bytes) -> None:
        self._library = library
        self._handles: list[tuple[str, ctypes.c_void_p]] = []
        file = _Constant(data=content, size=len(content))
        file.struct_size = ctypes.sizeof(file)
        graph, self._program, self._execution = (ctypes.c_void_p() for _ in range(3))
        library.call("halyard_graph_import_tflite", ctypes.byref(file), ctypes.byref(graph))
        self._handles.append(("graph", graph))
        try:
            library.call("halyard_compile", runtime, graph, None, ctypes.byref(self._program))
            self._handles.append(("program", self._program))
            library.call("halyard_execution_create", self._program, ctypes.byref(self._execution))
            self._handles.append(("execution", self._execution))
        except EngineError:
            self.__exit__(None, None, None)
            raise
        self._inputs = self._infos("input")
        self._outputs = self._infos("output")
        self._states: list[Array] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, handle in reversed(self._handles):
            self._library.release(name, handle)
        self._handles = []

    def _infos(self, kind: str) -> list[tuple[str, list[int], int]]:
        """Type, shape and size."""
        found = []
        for index in range(self._library.count(kind, self._program)):
            info = _Info()
            info.struct_size = ctypes.sizeof(info)
            self._library.call(
                f"halyard_program_{kind}",
                self._program,
                ctypes.c_size_t(index),
                ctypes.byref(info),
            )
            found.append((info.type.decode(), info.shape.list(), int(info.size)))
        return found

    def run(self, given: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
        """`sizes`: bytes to have for each output of the file, at least."""
        count = len(self._inputs) - len(given)
        if not self._states:
            self._states = [
                np.zeros(shape, _DTYPES[kind]) for kind, shape, _ in self._inputs[len(given) :]
            ]
        values = [np.array(each, order="C") for each in (*given, *self._states)]
        inputs = (_Input * max(1, len(values)))()
        for entry, each in zip(inputs, values, strict=False):
            entry.data, entry.size = each.ctypes.data, each.nbytes
            entry.shape.rank = each.ndim
            for axis, extent in enumerate(each.shape):
                entry.shape.extents[axis] = extent
        rooms = []
        outputs = (_Output * max(1, len(self._outputs)))()
        for number, (entry, (_, _, size)) in enumerate(zip(outputs, self._outputs, strict=False)):
            least = sizes[number] if number < len(sizes) else 0
            rooms.append(np.zeros(max(size, least, 1), np.uint8))
            entry.data, entry.capacity = rooms[-1].ctypes.data, rooms[-1].nbytes
        self._library.call(
            "halyard_execution_run",
            self._execution,
            inputs,
            ctypes.c_size_t(len(values)),
            outputs,
            ctypes.c_size_t(len(self._outputs)),
            None,
        )
        found = [
            room[: entry.size].view(_DTYPES[kind]).reshape(entry.shape.list())
            for room, entry, (kind, _, _) in zip(rooms, outputs, self._outputs, strict=False)
        ]
        if count:
            self._states = found[len(found) - count :]
            found = found[: len(found) - count]
        return found
