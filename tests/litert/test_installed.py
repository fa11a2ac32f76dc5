# SPDX-License-Identifier: Apache-2.0
"""LiteRT's libraries as they are installed, and the declarations of TFLite's structs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import halyard.litert
from halyard.litert import npu_environment
from halyard.programs import native
from tests.harness import tflite_models

ROOT = Path(__file__).parents[2]
VENDOR = json.loads((ROOT / "litert" / "vendor" / "litert_abi.json").read_text())
OURS = json.loads((ROOT / "litert" / "tflite_abi.json").read_text())
# Where it lies beside the checkout: read from TFLite's own headers.
FACTS = ROOT.parent / "shared" / "facts" / "tflite_abi.json"


def _run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


_LIBRARIES = {
    "lib/libhalyard_delegate.so": {
        "tflite_plugin_create_delegate",
        "tflite_plugin_destroy_delegate",
    },
    # What LiteRT looks up, and nothing that another vendor's library could take for its own.
    "lib/halyard/litert/plugin/libLiteRtCompilerPlugin_Halyard.so": set(
        VENDOR["exports"]["plugin"]
    ),
    "lib/halyard/litert/dispatch/libLiteRtDispatch_Halyard.so": {
        "LiteRtDispatchGetApi",
        "halyard_litert_dispatch_check",
        "halyard_litert_dispatch_counts",
    },
}
every_library = pytest.mark.parametrize("name", _LIBRARIES)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = native.folder()
    if not (built / "libhalyard_delegate.so").exists():
        pytest.skip(f"{built} has no delegate: sanitizer and static builds have none")
    folder = tmp_path_factory.mktemp("prefix")
    _run("cmake", "--install", built, "--component", "litert", "--prefix", folder, "--strip")
    return folder


def test_the_libraries_are_installed_and_nothing_else(prefix: Path) -> None:
    """Those that LiteRT is told folders of have a folder each."""
    installed = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    assert installed == set(_LIBRARIES)


@every_library
def test_exports_what_is_looked_up_and_no_more(name: str, prefix: Path) -> None:
    lines = _run("nm", "-D", "--defined-only", prefix / name).splitlines()
    assert {line.split()[-1] for line in lines} == _LIBRARIES[name]


@every_library
def test_needs_no_other_cxx_library(name: str, prefix: Path) -> None:
    dynamic = _run("readelf", "-d", prefix / name)
    assert "libstdc++" not in dynamic
    assert "libgcc_s" not in dynamic


@every_library
def test_takes_nothing_of_the_runtime_but_what_it_hands_over(name: str, prefix: Path) -> None:
    lines = _run("nm", "-D", "--undefined-only", prefix / name).splitlines()
    assert [line for line in lines if "LiteRt" in line or "TfLite" in line] == []


def test_litert_finds_the_installed_libraries(prefix: Path, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.compiled_model")
    graph, outputs = tflite_models.conv_net()
    folder = prefix / "lib" / "halyard" / "litert"
    path = tmp_path / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    # In a process of its own: LiteRT loads one dispatch library.
    program = (
        "import ctypes, sys\n"
        "from ai_edge_litert.compiled_model import CompiledModel, Environment\n"
        "from ai_edge_litert.compiled_model import HardwareAccelerator\n"
        "path, plugin, dispatch, library = sys.argv[1:]\n"
        "npu = Environment.create(compiler_plugin_path=plugin, dispatch_library_path=dispatch)\n"
        "model = CompiledModel.from_file(path, HardwareAccelerator.NPU, npu)\n"
        "counts = (ctypes.c_uint64 * 3)()\n"
        "ctypes.CDLL(library).halyard_litert_dispatch_counts(counts, ctypes.c_size_t(3))\n"
        "print(list(counts))\n"
    )
    library = folder / "dispatch" / "libLiteRtDispatch_Halyard.so"
    said = _run(
        sys.executable, "-c", program, path, folder / "plugin", folder / "dispatch", library
    )
    assert "[1, 1, 8]" in said


def test_the_package_carries_the_libraries_where_it_looks_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = native.folder()
    if not (built / npu_environment.PLUGIN).exists():
        pytest.skip(f"{built} has no vendor libraries: sanitizer and static builds have none")
    _run("cmake", "--install", built, "--component", "programs", "--prefix", tmp_path)
    folder = tmp_path / "halyard" / "native"
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
    for found in (
        halyard.litert.delegate_library(),
        halyard.litert.plugin_library(),
        halyard.litert.dispatch_library(),
    ):
        assert found.is_relative_to(folder)


def test_declarations_are_those_of_tflites_headers() -> None:
    if not FACTS.exists():
        pytest.skip(f"{FACTS} is not there")
    facts = json.loads(FACTS.read_text())
    known = {**facts["params_structs"], **facts["core_structs"]}
    for name, struct in OURS["structs"].items():
        # Of an array, whose length is no part of its type.
        if not name.endswith("Array"):
            wanted = known[name]
            assert struct["size"] == wanted["size"], name
            assert [(field, at) for field, _, at in struct["fields"]] == [
                (field["name"], field["offset"]) for field in wanted["fields"]
            ]
    for name, entries in OURS["enums"].items():
        assert dict(entries) == facts["enums"][name], name
