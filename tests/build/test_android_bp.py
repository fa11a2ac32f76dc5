# SPDX-License-Identifier: Apache-2.0
"""Android.bp is well formed and builds what CMake builds."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from halyard.programs import native

from .soong import Module, parse

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return parse((ROOT / "Android.bp").read_text())


def find(modules: list[Module], name: str) -> Module:
    return next(module for module in modules if module.name == name)


def test_is_formatted() -> None:
    bpfmt = shutil.which("bpfmt")
    assert bpfmt is not None, "bpfmt is in Debian's blueprint-tools"
    listed = subprocess.run(
        [bpfmt, "-l", "Android.bp"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert listed.stdout == "", "run bpfmt -w Android.bp"


def test_every_pattern_finds_a_file(modules: list[Module]) -> None:
    for module in modules:
        for pattern in module.strings("srcs"):
            assert list(ROOT.glob(pattern)), f"{module.name}: {pattern} finds nothing"


def test_no_file_is_built_twice(modules: list[Module]) -> None:
    built = Counter(
        file
        for module in modules
        for file in module.sources(ROOT)
        if module.kind.startswith("cc_") and file.suffix == ".cc"
    )
    assert [file for file, times in built.items() if times > 1] == []


# Of the tree that the build is part of: AOSP's external/google-highway and external/OpenCL-CTS.
PLATFORM_MODULES = {"libhwy", "ocl-headers"}
KEYS = (
    "defaults",
    "static_libs",
    "whole_static_libs",
    "header_libs",
    "tools",
    "generated_headers",
)


def test_every_named_module_exists(modules: list[Module]) -> None:
    names = {module.name for module in modules} | PLATFORM_MODULES
    for module in modules:
        for key in KEYS:
            assert set(module.strings(key)) <= names, f"{module.name}: {key}"


@pytest.mark.parametrize("name", [native.SERVICE, native.AIDL_SERVICE])
def test_an_image_starts_and_declares_each_service(modules: list[Module], name: str) -> None:
    service = find(modules, name)
    [script], [fragment] = service.strings("init_rc"), service.strings("vintf_fragments")
    assert f" /vendor/bin/hw/{name} " in (ROOT / script).read_text()
    assert "<name>android.hardware.neuralnetworks</name>" in (ROOT / fragment).read_text()


def test_names_the_same_sources_as_cmake(modules: list[Module], tmp_path: Path) -> None:
    subprocess.run(
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            tmp_path,
            "-G",
            "Ninja",
            "-DHALYARD_TESTS=OFF",
            "-DHALYARD_UNITY=OFF",
        ],
        check=True,
        capture_output=True,
    )
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    in_cmake = {
        Path(command["file"]).relative_to(ROOT)
        for command in commands
        if Path(command["file"]).is_relative_to(ROOT)
        and not Path(command["file"]).is_relative_to(tmp_path)
    }
    in_soong = {
        source for module in modules for source in module.sources(ROOT) if source.suffix == ".cc"
    }
    # The virtual device's own system programs: a phone brings its own. What is loaded into QEMU.
    elsewhere = {
        file
        for program in ("adbd", "counting", "hwservicemanager", "managers", "servicemanager")
        for file in in_cmake
        if file.is_relative_to(Path("harness/device") / program)
    }
    samples = {file for file in in_cmake if file.is_relative_to("samples")}
    assert in_cmake - elsewhere - samples == in_soong
