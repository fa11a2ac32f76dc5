# SPDX-License-Identifier: Apache-2.0
"""What the two vendor libraries refuse: tables and versions that they don't know, handles that are
not theirs, damaged bytecode. Nothing of it is a crash, and nothing is written where it failed."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

import halyard.litert
from tests.harness import tflite_models
from tests.litert.compiling import new_environment
from tests.litert.vendor_tables import (
    STATUS,
    ApiVersion,
    DispatchApi,
    DispatchHost,
    HostBuffer,
    MemBuffer,
    Table,
    library,
)

_MAGIC = b"HLYDNPU\n"
_UNTOUCHED = 0xABCD
_NO_HANDLE = 0xDEAD0


@pytest.fixture(scope="module")
def plugin() -> ctypes.CDLL:
    return library(halyard.litert.plugin_library)


@pytest.fixture
def host() -> DispatchHost:
    return DispatchHost()


@pytest.fixture
def device(host: DispatchHost) -> Iterator[int]:
    found = host.device()
    yield found
    assert host.status("destroyDeviceContext", found) == 0


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of tflite_models.conv_net(): one input, two outputs."""
    graph, outputs = tflite_models.conv_net()
    source = tmp_path_factory.mktemp("model") / "model.tflite"
    target = source.with_name("compiled.tflite")
    source.write_bytes(graph.content(*outputs))
    with new_environment() as npu:
        npu.compile_ahead(source, target)
    content = target.read_bytes()
    begin = content.index(_MAGIC)
    size = int.from_bytes(content[begin + 16 : begin + 24], "little")
    return content[begin : begin + size]


# ---- the compiler plugin ------------------------------------------------------------------------


def _create(plugin: ctypes.CDLL, table: Table | None) -> tuple[int, int | None]:
    made = ctypes.c_void_p(_UNTOUCHED)
    status = plugin.LiteRtCreateCompilerPlugin(
        None if table is None else table.bytes, ctypes.byref(made), None, None
    )
    return status, made.value


def _destroy(plugin: ctypes.CDLL, handle: int | None) -> None:
    plugin.LiteRtDestroyCompilerPlugin.restype = None
    plugin.LiteRtDestroyCompilerPlugin(ctypes.c_void_p(handle))


def test_a_table_of_the_known_version_is_taken(plugin: ctypes.CDLL) -> None:
    table = Table("CompilerTable")
    for size, minor in ((1408, 3), (1048, 0), (4096, 9)):
        table.set_header(size, 1, minor, 0)
        status, made = _create(plugin, table)
        assert status == 0
        assert made not in (None, _UNTOUCHED)
        _destroy(plugin, made)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ((0, 0, 0, 0), "is of version 0.0 with 0 bytes"),
        ((1408, 2, 0, 0), "is of version 2.0 with 1408 bytes, and version 1 is known"),
        ((1408, 1, 999, 0), "is of version 1.999"),
        ((1408, 1, 3, 7), "and version 1 is known"),
        ((1403, 1, 3, 0), "and version 1 is known"),
        ((264, 1, 0, 0), "and has no PushOp"),
        ((8, 1, 0, 0), "and has no GetNumModelSubgraphs"),
        # An address, as it stood there before LiteRT 2.2.
        ((0x1230, 0x5566, 0x7F00, 0), "and version 1 is known"),
    ],
)
def test_other_tables_are_refused_by_the_plugin(
    header: tuple[int, int, int, int],
    reason: str,
    plugin: ctypes.CDLL,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = Table("CompilerTable")
    table.set_header(*header)
    assert _create(plugin, table) == (STATUS["UNSUPPORTED"], _UNTOUCHED)
    assert reason in capfd.readouterr().err


def test_a_table_with_an_empty_slot_is_refused(
    plugin: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    for function in Table("CompilerTable").offsets:
        table = Table("CompilerTable")
        table.set_slot(function, 0)
        assert _create(plugin, table) == (STATUS["UNSUPPORTED"], _UNTOUCHED)
        assert f"has no {function} " in capfd.readouterr().err
    assert _create(plugin, None) == (STATUS["INVALID_ARGUMENT"], _UNTOUCHED)
    assert plugin.LiteRtCreateCompilerPlugin(Table("CompilerTable").bytes, None, None, None)


def _compatible(plugin: ctypes.CDLL, version: tuple[int, int, int], processor: Any = None) -> int:
    function = plugin.LiteRtCompilerPluginCheckCompilerCompatibility
    function.argtypes = [ApiVersion, *[ctypes.c_void_p] * 3, ctypes.c_char_p]
    return int(function(ApiVersion(*version), None, None, None, processor))


def test_one_version_of_the_interface_is_known(plugin: ctypes.CDLL) -> None:
    assert _compatible(plugin, (0, 1, 0)) == 0
    assert _compatible(plugin, (0, 1, 0), b"arm64-cortex-a76") == 0
    for version in ((0, 1, 1), (0, 2, 0), (1, 1, 0), (-1, 1, 0)):
        assert _compatible(plugin, version) == STATUS["UNSUPPORTED_COMPILER"]
    assert _compatible(plugin, (0, 1, 0), b"z80") == STATUS["UNSUPPORTED_COMPILER"]


def test_processors_are_listed(plugin: ctypes.CDLL) -> None:
    count, name = ctypes.c_size_t(), ctypes.c_char_p()
    assert plugin.LiteRtGetNumCompilerPluginSupportedSocModels(None, ctypes.byref(count)) == 0
    names = []
    for index in range(count.value):
        assert not plugin.LiteRtGetCompilerPluginSupportedSocModel(
            None, ctypes.c_size_t(index), ctypes.byref(name)
        )
        names.append(name.value)
    assert names[0] == b"host"
    assert {b"x86_64-avx2", b"arm64-cortex-a76"} <= set(names)
    assert plugin.LiteRtGetCompilerPluginSupportedSocModel(
        None, ctypes.c_size_t(count.value), ctypes.byref(name)
    )


def test_nothing_stands_for_a_plugin_or_for_what_it_compiled(plugin: ctypes.CDLL) -> None:
    """Where nothing is claimed LiteRT asks for the modules of nothing, and writes the model again
    where it is not refused."""
    count, other = ctypes.c_size_t(9), ctypes.c_void_p()
    size = ctypes.c_size_t()
    none = None
    nothing = STATUS["UNSUPPORTED"]
    assert plugin.LiteRtCompiledResultNumByteCodeModules(none, ctypes.byref(count)) == nothing
    assert count.value == 0
    count.value = 9
    assert plugin.LiteRtGetNumCompiledResultCalls(none, ctypes.byref(count)) == nothing
    assert count.value == 0
    wrong = STATUS["INVALID_ARGUMENT"]
    place, length = ctypes.byref(other), ctypes.byref(size)
    assert plugin.LiteRtGetCompiledResultByteCode(none, size, place, length) == wrong
    assert plugin.LiteRtGetCompiledResultCallInfo(none, size, place, length, length) == wrong
    assert plugin.LiteRtCompilerPluginPartition(none, none, none, none) == wrong
    assert plugin.LiteRtCompilerPluginCompile(none, none, none, place) == wrong
    assert plugin.LiteRtGetCompilerPluginSDKVersion(none, place) == wrong
    assert plugin.LiteRtGetCompilerPluginSupportedHardware(none, place) == wrong
    assert plugin.LiteRtGetCompilerPluginVersion(none) == wrong
    assert plugin.LiteRtCompilerPluginRegisterAllTransformations(none, none, none) == wrong
    plugin.LiteRtDestroyCompiledResult.restype = None
    plugin.LiteRtDestroyCompiledResult(none)
    _destroy(plugin, None)


def test_a_host_that_answers_with_failures_is_told(
    plugin: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every function of the table fails."""
    table = Table("CompilerTable")
    status, made = _create(plugin, table)
    assert status == 0
    handle, some = ctypes.c_void_p(made), ctypes.c_void_p(0x1000)
    result = ctypes.c_void_p(_UNTOUCHED)
    failure = STATUS["RUNTIME_FAILURE"]
    assert plugin.LiteRtCompilerPluginPartition(handle, None, some, some) == failure
    assert plugin.LiteRtCompilerPluginCompile(handle, None, some, ctypes.byref(result)) == failure
    assert result.value is None
    assert plugin.LiteRtCompilerPluginPartition(handle, b"z80", some, some) != 0
    said = capfd.readouterr().err
    assert "GetNumModelSubgraphs answers with 3" in said
    assert 'there is no processor "z80"' in said
    _destroy(plugin, made)


# ---- the dispatch library -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", [(0, 0, 0, 0), (48, 1, 0, 0), (55, 1, 0, 0), (56, 2, 0, 0), (56, 0, 9, 0)]
)
def test_less_room_than_the_table_takes_is_left_alone(header: tuple[int, ...]) -> None:
    """Before LiteRT 2.2 it was smaller, and zeros stood in place of the header."""
    api = DispatchApi()
    api.header[:] = list(header)
    before = bytes(api)
    found = library(halyard.litert.dispatch_library).LiteRtDispatchGetApi(ctypes.byref(api))
    assert found == STATUS["UNSUPPORTED_RUNTIME"]
    assert bytes(api) == before
    assert library(halyard.litert.dispatch_library).LiteRtDispatchGetApi(None) == found


def test_what_a_newer_host_looks_for_behind_the_interface_is_null(host: DispatchHost) -> None:
    api = DispatchApi()
    api.header[0], api.header[1], api.header[2] = 64, 1, 7
    assert host.library.LiteRtDispatchGetApi(ctypes.byref(api)) == 0
    spare = (ctypes.c_uint64 * 16).from_address(api.interface + 26 * 8)
    assert list(spare) == [0] * 16
    assert (api.graph, api.custom_buffers) == (None, None)


def test_one_version_of_the_runtime_is_known(host: DispatchHost) -> None:
    assert host.status("checkRuntimeCompatibility", ApiVersion(0, 1, 0), None, None) == 0
    for version in ((0, 1, 1), (0, 2, 0), (1, 1, 0)):
        assert (
            host.status("checkRuntimeCompatibility", ApiVersion(*version), None, None)
            == STATUS["UNSUPPORTED_RUNTIME"]
        )


@pytest.mark.parametrize(
    "header", [(0, 0, 0, 0), (416, 2, 0, 0), (416, 1, 2, 1), (384, 1, 0, 0), (8, 1, 0, 0)]
)
def test_other_tables_are_refused_by_the_dispatch_library(
    header: tuple[int, int, int, int], host: DispatchHost
) -> None:
    host.table.set_header(*header)
    made = ctypes.c_uint64(_UNTOUCHED)
    wrong = STATUS["UNSUPPORTED"]
    assert host.status("initialize", host.table.bytes, None, None) == wrong
    assert host.status("createDeviceContext", host.table.bytes, None, ctypes.byref(made)) == wrong
    assert host.status("initialize", None, None, None) == STATUS["INVALID_ARGUMENT"]


def test_a_runtime_with_an_empty_slot_is_refused(
    host: DispatchHost, capfd: pytest.CaptureFixture[str]
) -> None:
    for function in host.table.offsets:
        other = Table("RuntimeTable")
        other.set_slot(function, 0)
        assert host.status("initialize", other.bytes, None, None) == STATUS["UNSUPPORTED"]
        assert f"has no {function} " in capfd.readouterr().err


# Not theirs to refuse: they take no handle, or do nothing.
_WITHOUT_HANDLES = {
    "initialize",
    "getVendorId",
    "getBuildId",
    "getCapabilities",
    "createDeviceContext",
    "checkRuntimeCompatibility",
    "setSchedulingInfo",
    "setOptions",
}


def test_handles_that_are_not_alive_are_refused(host: DispatchHost, bytecode: bytes) -> None:
    device = host.device()
    status, context = host.load(device, bytecode)
    assert status == 0
    assert host.status("destroyInvocationContext", context) == 0
    assert host.status("destroyDeviceContext", device) == 0
    room = ctypes.create_string_buffer(4096)
    for handle in (0, _NO_HANDLE, context, device):
        for name, parameters in host.functions.items():
            if name in _WITHOUT_HANDLES:
                continue
            arguments: list[Any] = []
            for position, kind in enumerate(parameters):
                is_table = kind == "const RuntimeTable*"
                first = position == (1 if parameters[0] == "const RuntimeTable*" else 0)
                if is_table:
                    arguments.append(host.table.bytes)
                elif first:
                    arguments.append(handle)
                elif ("int" in kind and "*" not in kind) or kind in ("size_t", "bool"):
                    arguments.append(0)
                else:
                    arguments.append(ctypes.addressof(room))
            assert host.status(name, *arguments) != 0, name


def test_null_arguments_are_refused(host: DispatchHost, device: int, bytecode: bytes) -> None:
    status, context = host.load(device, bytecode)
    assert status == 0
    for name in ("getVendorId", "getBuildId", "getCapabilities"):
        assert host.status(name, None) != 0
    assert host.status("createDeviceContext", host.table.bytes, None, None) != 0
    assert host.status("registerTensorBuffer", device, None, None) != 0
    assert host.status("getInputRequirements", context, 0, None, None) != 0
    assert host.status("getOutputRequirements", context, -1, None, None) != 0
    assert host.status("stopMetrics", context, None) != 0
    assert host.status("attachInputEvent", context, 0, None) != 0
    assert host.status("invokeAsync", context, 2, None) != 0
    room = ctypes.create_string_buffer(64)
    assert host.status("invokeAsync", context, 1, room) != 0, "there is room for one of two events"
    assert host.status("invokeAsync", context, -1, room) != 0
    assert host.status("destroyInvocationContext", context) == 0


def test_bytecode_of_other_kinds_and_ports_is_refused(
    host: DispatchHost, device: int, bytecode: bytes
) -> None:
    wrong = STATUS["INCOMPATIBLE_BYTECODE"]
    assert host.load(device, bytecode, inputs=2)[0] == wrong
    assert host.load(device, bytecode, outputs=1)[0] == wrong
    assert host.load(device, bytecode, inputs=-1)[0] == wrong
    assert host.load(device, bytecode, kind=3)[0] == wrong
    assert host.load_from(device, MemBuffer(-1, None, 0, 100, 0))[0] == wrong


def test_damaged_bytecode_is_refused(host: DispatchHost, device: int, bytecode: bytes) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    choose = random.Random(seed)
    before = halyard.litert.counts()
    wrong = STATUS["INCOMPATIBLE_BYTECODE"]
    for length in [0, 1, 63, 64, 65, 100, *(choose.randrange(len(bytecode)) for _ in range(20))]:
        assert host.load(device, bytecode[:length]) == (wrong, 0), length
    for _ in range(150):
        damaged = bytearray(bytecode)
        place = choose.choice([choose.randrange(700), choose.randrange(len(damaged))])
        damaged[place] ^= 1 << choose.randrange(8)
        assert host.load(device, bytes(damaged)) == (wrong, 0), place
    assert halyard.litert.counts().since(before).contexts == 0
    # What holds it may pad it.
    status, context = host.load(device, bytecode + bytes(100))
    assert status == 0
    assert host.status("destroyInvocationContext", context) == 0


def test_bytecode_in_a_file_is_used_where_it_lies(
    host: DispatchHost, device: int, bytecode: bytes, tmp_path: Path
) -> None:
    """At a multiple of 64; at others, and of files that are other ones, it is copied."""
    kept = ctypes.create_string_buffer(bytecode, len(bytecode))
    for before, is_mapped in ((0, True), (64, True), (4096 + 128, True), (16, False), (1, False)):
        path = tmp_path / f"at{before}"
        path.write_bytes(bytes(before) + bytecode)
        counted = halyard.litert.counts()
        with path.open("rb") as file:
            place = MemBuffer(file.fileno(), ctypes.addressof(kept), 0, len(bytecode), before)
            status, context = host.load_from(device, place)
        loaded = halyard.litert.counts().since(counted)
        assert (status, loaded.mapped_contexts) == (0, int(is_mapped))
        # The descriptor is closed.
        assert _run(host, device, context) == 0
        assert host.status("destroyInvocationContext", context) == 0
    path = tmp_path / "short"
    path.write_bytes(bytecode[:100])
    counted = halyard.litert.counts()
    with path.open("rb") as file:
        place = MemBuffer(file.fileno(), ctypes.addressof(kept), 0, len(bytecode), 0)
        status, context = host.load_from(device, place)
    assert (status, halyard.litert.counts().since(counted).mapped_contexts) == (0, 0)
    assert host.status("destroyInvocationContext", context) == 0


_INPUT, _OUTPUT = (1, 12, 12, 3), (1, 10)


def _buffer(shape: tuple[int, ...], **more: Any) -> HostBuffer:
    return HostBuffer(bytearray(4 * int(np.prod(shape))), shape, **more)


def _run(host: DispatchHost, device: int, context: int) -> int:
    given = host.register(device, _buffer(_INPUT))
    results = [host.register(device, _buffer(_OUTPUT)) for _ in range(2)]
    assert host.status("attachInput", context, 0, given) == 0
    for index, each in enumerate(results):
        assert host.status("attachOutput", context, index, each) == 0
    status = host.status("invoke", context)
    assert host.status("detachInput", context, 0, given) == 0
    for index, each in enumerate(results):
        assert host.status("detachOutput", context, index, each) == 0
    for each in (given, *results):
        assert host.status("unregisterTensorBuffer", device, each) == 0
    return status


def test_buffers_that_can_not_be_used_are_refused(
    host: DispatchHost, device: int, bytecode: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = [
        (_buffer(_INPUT, has_strides=True), "elements lie apart"),
        (_buffer(_INPUT, kind=10), "buffers of kind 10 can't be read by the host"),
        (_buffer(_INPUT, offset=4000), "begins at 4000 of its 1728 bytes"),
    ]
    made = ctypes.c_uint64(_UNTOUCHED)
    for number, (buffer, reason) in enumerate(refused):
        host.buffers[number + 1] = buffer
        assert host.status("registerTensorBuffer", device, number + 1, ctypes.byref(made)) != 0
        assert reason in capfd.readouterr().err
    status, context = host.load(device, bytecode)
    assert status == 0
    too_small = host.register(device, _buffer(_INPUT, size=100))
    integers = host.register(device, _buffer(_INPUT, element=2))
    good = host.register(device, _buffer(_INPUT))
    for handle in (too_small, integers, _NO_HANDLE):
        assert host.status("attachInput", context, 0, handle) != 0
    for index in (-1, 1, 2**31 - 1):
        assert host.status("attachInput", context, index, good) != 0
    capfd.readouterr()
    assert host.status("invoke", context) != 0
    assert "no buffer is attached to input 0" in capfd.readouterr().err
    assert host.status("detachInput", context, 0, good) != 0
    assert _run(host, device, context) == 0
    assert host.status("destroyInvocationContext", context) == 0


def test_what_is_destroyed_in_another_order_stays_whole(
    host: DispatchHost, bytecode: bytes
) -> None:
    """A device with models that are alive, a buffer that is attached."""
    device = host.device()
    status, context = host.load(device, bytecode)
    assert status == 0
    given = host.register(device, _buffer(_INPUT))
    results = [host.register(device, _buffer(_OUTPUT)) for _ in range(2)]
    assert host.status("attachInput", context, 0, given) == 0
    for index, each in enumerate(results):
        assert host.status("attachOutput", context, index, each) == 0
    assert host.status("unregisterTensorBuffer", device, given) == 0
    assert host.status("unregisterTensorBuffer", device, given) != 0
    assert host.status("destroyDeviceContext", device) == 0
    assert host.status("destroyDeviceContext", device) != 0
    assert host.status("invoke", context) == 0
    assert host.status("destroyInvocationContext", context) == 0
    assert host.status("destroyInvocationContext", context) != 0


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_descriptors_are_not_leaked(
    host: DispatchHost, device: int, bytecode: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "bytecode"
    path.write_bytes(bytecode)
    kept = ctypes.create_string_buffer(bytecode, len(bytecode))

    def load_and_run() -> None:
        with path.open("rb") as file:
            place = MemBuffer(file.fileno(), ctypes.addressof(kept), 0, len(bytecode), 0)
            status, context = host.load_from(device, place)
        assert status == 0
        assert _run(host, device, context) == 0
        # Events can't be made by this host: nothing of the run stays.
        room = ctypes.create_string_buffer(64)
        assert host.status("invokeAsync", context, 2, room) != 0
        assert host.status("destroyInvocationContext", context) == 0

    load_and_run()
    there = _descriptors()
    for _ in range(10):
        load_and_run()
    assert _descriptors() == there
