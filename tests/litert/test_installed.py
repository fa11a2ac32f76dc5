# SPDX-License-Identifier: Apache-2.0
"""The delegate's library as it is installed, and its declarations of TFLite's structs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from halyard.programs import native

ROOT = Path(__file__).parents[2]
OURS = json.loads((ROOT / "litert" / "tflite_abi.json").read_text())
# Where it lies beside the checkout: read from TFLite's own headers.
FACTS = ROOT.parent / "shared" / "facts" / "tflite_abi.json"


def _run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = native.folder()
    if not (built / "libhalyard_delegate.so").exists():
        pytest.skip(f"{built} has no delegate: sanitizer and static builds have none")
    folder = tmp_path_factory.mktemp("prefix")
    _run("cmake", "--install", built, "--component", "litert", "--prefix", folder, "--strip")
    installed = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    assert installed == ["lib/libhalyard_delegate.so"]
    return folder / "lib" / "libhalyard_delegate.so"


def test_exports_the_two_functions_and_no_others(library: Path) -> None:
    lines = _run("nm", "-D", "--defined-only", library).splitlines()
    assert {line.split()[-1] for line in lines} == {
        "tflite_plugin_create_delegate",
        "tflite_plugin_destroy_delegate",
    }


def test_needs_no_other_cxx_library(library: Path) -> None:
    dynamic = _run("readelf", "-d", library)
    assert "libstdc++" not in dynamic
    assert "libgcc_s" not in dynamic


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
