# SPDX-License-Identifier: Apache-2.0
"""NNAPI's C library as `cmake --install --component nnapi` leaves it: what it exports, the program
of the docs, and the support library's table."""

import ctypes
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from halyard.programs import native

ROOT = Path(__file__).parents[2]
INTERFACES = json.loads((ROOT / "nnapi" / "interfaces.json").read_text())
FEATURE_LEVEL_7 = 1000007


def run(*words: object, **more: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        env={**os.environ, **more},
    )
    assert done.returncode == 0, f"{words[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the component in it."""
    built = native.folder()
    if not (built / "libneuralnetworks.so").exists():
        pytest.skip(f"{built} has no libneuralnetworks.so: sanitizer and static builds have none")
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", built, "--component", "nnapi", "--prefix", folder, "--strip")
    return folder


def exported(library: Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines}
    # A version's own symbol.
    return {name for name in names if not name.startswith("LIBNEURALNETWORKS")}


def test_installs_headers_libraries_and_what_finds_them(prefix: Path) -> None:
    installed = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    assert installed == {
        "include/halyard/android/NeuralNetworks.h",
        "include/halyard/android/SupportLibrary.h",
        "lib/libneuralnetworks.so",
        "lib/libhalyard_nnapi_sl.so",
        "lib/pkgconfig/neuralnetworks.pc",
    }


def test_exports_nnapis_functions_and_no_others(prefix: Path) -> None:
    wanted = {function["name"] for function in INTERFACES["functions"]}
    assert len(wanted) == 75
    assert exported(prefix / "lib" / "libneuralnetworks.so") == wanted
    assert exported(prefix / "lib" / "libhalyard_nnapi_sl.so") == {
        "ANeuralNetworks_getSLDriverImpl"
    }


def test_is_called_as_pytorch_looks_for_it(prefix: Path) -> None:
    dynamic = run("readelf", "-d", prefix / "lib" / "libneuralnetworks.so")
    assert "Library soname: [libneuralnetworks.so]" in dynamic
    # Of no other C++ library than the one inside it.
    assert "libstdc++" not in dynamic


def test_the_program_of_the_docs_runs(prefix: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "nnapi.md").read_text()
    [program] = re.findall(r"^```c\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    source = tmp_path / "model.c"
    source.write_text(program)
    config = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "neuralnetworks", **config).split()
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", source, "-o", tmp_path / "model", *flags)
    run(tmp_path / "model", LD_LIBRARY_PATH=str(prefix / "lib"))


def test_what_is_wrong_in_the_configuration_leaves_no_devices(prefix: Path, tmp_path: Path) -> None:
    program = (
        "import ctypes, sys\n"
        "nn = ctypes.CDLL(sys.argv[1])\n"
        "count = ctypes.c_uint32(9)\n"
        "print(nn.ANeuralNetworks_getDeviceCount(ctypes.byref(count)), count.value)\n"
    )

    def said(**variables: str) -> tuple[str, str]:
        done = subprocess.run(
            ["/usr/bin/python3", "-c", program, str(prefix / "lib" / "libneuralnetworks.so")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **variables},
        )
        return done.stdout.strip(), done.stderr

    op_failed = "5 9"
    output, errors = said(HALYARD_NNAPI_DEVICES="in-process --colour blue")
    assert output == op_failed
    assert "HALYARD_NNAPI_DEVICES: in-process: --colour" in errors
    output, errors = said(HALYARD_NNAPI_FEATURE_LEVEL="9")
    assert output == op_failed
    assert "a feature level is 1 to 8, not 9" in errors
    file = tmp_path / "devices.yaml"
    file.write_text("feature-level: 5\ndevices:\n  - in-process --name one\nlevels: 3\n")
    output, errors = said(HALYARD_NNAPI_CONFIG=str(file))
    assert output == op_failed
    assert f"{file}: line 4: there is no key levels" in errors
    file.write_text(
        "feature-level: 5  # Android 12\ndevices:\n  - in-process --name one -c CpuRef\n"
    )
    assert said(HALYARD_NNAPI_CONFIG=str(file))[0] == "0 2"


def test_the_table_of_the_support_library_is_of_level_7_and_full(prefix: Path) -> None:
    library = ctypes.CDLL(str(prefix / "lib" / "libhalyard_nnapi_sl.so"))
    library.ANeuralNetworks_getSLDriverImpl.restype = ctypes.c_void_p
    address = library.ANeuralNetworks_getSLDriverImpl()
    table = INTERFACES["support_library"]["tables"]["NnApiSLDriverImplFL8"]
    words = (ctypes.c_uint64 * (table["size"] // 8)).from_address(address)
    assert words[0] == FEATURE_LEVEL_7
    assert all(words)
    count_of_devices = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint32))
    [offset] = [
        offset
        for slots in INTERFACES["support_library"]["tables"].values()
        for name, offset in slots["slots"]
        if name == "ANeuralNetworks_getDeviceCount"
    ]
    count = ctypes.c_uint32()
    assert count_of_devices(words[offset // 8])(ctypes.byref(count)) == 0
    assert count.value == 1  # no reference
