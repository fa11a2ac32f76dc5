# SPDX-License-Identifier: Apache-2.0
"""The two vendor libraries below a host of the test's own: tables of functions as LiteRT hands them
over, or as it does not."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import halyard.litert
from halyard.errors import ProgramMissing

_ROOT = Path(__file__).parents[2]
ABI = json.loads((_ROOT / "litert" / "vendor" / "litert_abi.json").read_text())
STATUS = dict(ABI["enums"]["StatusCode"])

# Of the tables that LiteRT 2.3 has, in bytes.
SIZES = {"CompilerTable": 1408, "RuntimeTable": 416}

_NUMBERS = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "bool": ctypes.c_bool,
}


class ApiVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int32), ("minor", ctypes.c_int32), ("patch", ctypes.c_int32)]


class MemBuffer(ctypes.Structure):
    _fields_ = [
        ("fd", ctypes.c_int32),
        ("base", ctypes.c_void_p),
        ("offset", ctypes.c_size_t),
        ("size", ctypes.c_size_t),
        ("base_file_offset", ctypes.c_size_t),
    ]


class DispatchApi(ctypes.Structure):
    _fields_ = [
        ("header", ctypes.c_uint16 * 4),
        ("version", ApiVersion),
        ("interface", ctypes.c_void_p),
        ("asynchronous", ctypes.c_void_p),
        ("graph", ctypes.c_void_p),
        ("custom_buffers", ctypes.c_void_p),
    ]


def _type_of(parameter: str) -> Any:
    if parameter == "ApiVersion":
        return ApiVersion
    return _NUMBERS.get(parameter, ctypes.c_void_p)


def _signature(parameters: list[str]) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *(_type_of(each) for each in parameters))


class Table:
    """One that the host hands over. Functions that are not given fail."""

    def __init__(
        self, name: str, functions: Mapping[str, Callable[..., int]] | None = None
    ) -> None:
        self.bytes = ctypes.create_string_buffer(SIZES[name])
        self._kept: list[Any] = []
        self.offsets: dict[str, int] = {}
        for function, offset, parameters in ABI["tables"][name]["slots"]:
            self.offsets[function] = offset
            made = _signature(parameters)((functions or {}).get(function, self._fail))
            self._kept.append(made)
            self.set_slot(function, ctypes.cast(made, ctypes.c_void_p).value or 0)
        self.set_header(SIZES[name], ABI["tables"][name]["major"], 3, 0)

    @staticmethod
    def _fail(*_: Any) -> int:
        return int(STATUS["RUNTIME_FAILURE"])

    def set_header(self, size: int, major: int, minor: int, reserved: int) -> None:
        struct.pack_into("<4H", self.bytes, 0, size, major, minor, reserved)

    def set_slot(self, function: str, address: int) -> None:
        struct.pack_into("<Q", self.bytes, self.offsets[function], address)


def library(path: Callable[[], Path]) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path()))
    except ProgramMissing as error:
        pytest.skip(str(error))


@dataclass
class HostBuffer:
    """What a tensor buffer of the host is; its address stands for its handle."""

    content: bytearray
    shape: tuple[int, ...]
    element: int = 1
    kind: int = 1
    has_strides: bool = False
    offset: int = 0
    size: int | None = None

    def type_bytes(self) -> bytes:
        extents = [*self.shape, *[0] * (8 - len(self.shape))]
        strides = 0x80 if self.has_strides else 0
        return struct.pack("<iI8i8I", self.element, len(self.shape) | strides, *extents, *[0] * 8)


@dataclass
class DispatchHost:
    """The dispatch library with a runtime of the test's."""

    buffers: dict[int, HostBuffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.library = library(halyard.litert.dispatch_library)
        self.table = Table(
            "RuntimeTable",
            {
                "GetTensorBufferType": self._number(lambda each: each.kind),
                "GetTensorBufferSize": self._size(
                    lambda each: len(each.content) if each.size is None else each.size
                ),
                "GetTensorBufferOffset": self._size(lambda each: each.offset),
                "GetTensorBufferTensorType": self._tensor_type,
                "GetTensorBufferHostMemory": self._size(
                    lambda each: ctypes.addressof((ctypes.c_char * 0).from_buffer(each.content))
                ),
            },
        )
        api = DispatchApi()
        api.header[0], api.header[1] = ctypes.sizeof(api), 1
        assert self.library.LiteRtDispatchGetApi(ctypes.byref(api)) == 0
        self._slots: dict[str, Any] = {}
        tables = {"DispatchInterface": api.interface, "AsyncInterface": api.asynchronous}
        for name, address in tables.items():
            for function, offset, parameters in ABI["interfaces"][name]["slots"]:
                pointer = ctypes.c_uint64.from_address(address + offset).value
                if pointer:
                    self._slots[function] = (_signature(parameters)(pointer), parameters)

    def _number(self, value: Callable[[HostBuffer], int]) -> Callable[..., int]:
        def write(handle: int, to: int) -> int:
            ctypes.c_int32.from_address(to).value = value(self.buffers[handle])
            return 0

        return write

    def _size(self, value: Callable[[HostBuffer], int]) -> Callable[..., int]:
        def write(handle: int, to: int) -> int:
            ctypes.c_uint64.from_address(to).value = value(self.buffers[handle])
            return 0

        return write

    def _tensor_type(self, handle: int, to: int) -> int:
        content = self.buffers[handle].type_bytes()
        ctypes.memmove(to, content, len(content))
        return 0

    @property
    def functions(self) -> Mapping[str, list[str]]:
        return {name: parameters for name, (_, parameters) in self._slots.items()}

    def status(self, function: str, *arguments: Any) -> int:
        return int(self._slots[function][0](*arguments))

    def get(self, function: str, *arguments: Any) -> int:
        """What is written to the last argument."""
        value = ctypes.c_uint64()
        status = self.status(function, *arguments, ctypes.byref(value))
        assert status == 0, (function, status)
        return int(value.value)

    def device(self) -> int:
        return self.get("createDeviceContext", self.table.bytes, None)

    def register(self, device: int, buffer: HostBuffer) -> int:
        handle = 0x1000 + len(self.buffers)
        self.buffers[handle] = buffer
        return self.get("registerTensorBuffer", device, handle)

    def load(
        self, device: int, bytecode: bytes, inputs: int = 1, outputs: int = 2, kind: int = 2
    ) -> tuple[int, int]:
        """Status and context, of bytes in memory."""
        kept = ctypes.create_string_buffer(bytecode, max(1, len(bytecode)))
        place = MemBuffer(-1, ctypes.addressof(kept), 0, len(bytecode), 0)
        return self.load_from(device, place, inputs, outputs, kind)

    def load_from(
        self, device: int, place: MemBuffer, inputs: int = 1, outputs: int = 2, kind: int = 2
    ) -> tuple[int, int]:
        context = ctypes.c_uint64()
        status = self.status(
            "createInvocationContext",
            self.table.bytes,
            device,
            kind,
            ctypes.byref(place),
            b"halyard_0",
            inputs,
            outputs,
            ctypes.byref(context),
        )
        return status, int(context.value)
