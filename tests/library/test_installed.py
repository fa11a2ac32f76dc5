# SPDX-License-Identifier: Apache-2.0
"""The installed files: headers, a library that shows its C API alone, and the packages that find
it."""

import re
import subprocess
from pathlib import Path

from .conftest import ROOT, run

# Of the release build, stripped, which has 8.7 MB, half a MB of it the importer
# (docs/library.md).
MOST_BYTES = 8_900_000


def test_installs_headers_library_and_what_finds_it(prefix: Path) -> None:
    installed = {str(file.relative_to(prefix)) for file in prefix.rglob("*") if file.is_file()}
    version = re.search(
        r"HALYARD_VERSION \"([\d.]+)\"", (ROOT / "engine" / "base" / "version.h").read_text()
    )
    assert version is not None
    assert installed == {
        *(f"include/halyard/{name}" for name in ("backend.h", "halyard.h", "halyard.hpp")),
        "include/halyard/types.h",
        "lib/libhalyard.so",
        "lib/libhalyard.so.0",
        f"lib/libhalyard.so.{version[1]}",
        "lib/pkgconfig/halyard.pc",
        *(f"lib/cmake/halyard/halyard{part}.cmake" for part in ("Config", "ConfigVersion")),
        *(f"lib/cmake/halyard/halyardTargets{part}.cmake" for part in ("", "-release")),
    }


def test_exports_nothing_but_its_c_api(library: Path) -> None:
    listed = run("nm", "-D", "--defined-only", library)
    symbols = {line.split()[-1] for line in listed.splitlines()}
    declared = set(
        re.findall(r"\b(halyard_\w+)\(", (ROOT / "include" / "halyard" / "halyard.h").read_text())
    )
    assert symbols == declared


def test_has_a_soname_and_needs_no_cxx_library(library: Path) -> None:
    dynamic = run("readelf", "-d", library)
    assert "soname: [libhalyard.so.0]" in dynamic
    needed = set(re.findall(r"NEEDED\).*\[(.+)\]", dynamic))
    assert {name.split(".so")[0] for name in needed} <= {"libc", "libm", "ld-linux-x86-64"}


def test_stays_within_its_size(library: Path) -> None:
    assert library.stat().st_size < MOST_BYTES


def test_pkg_config_finds_it(prefix: Path, tmp_path: Path) -> None:
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "halyard"],
        env={"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert flags.returncode == 0, flags.stderr
    program = tmp_path / "convolve"
    source = ROOT / "samples" / "engine" / "convolve.c"
    run("gcc", "-std=c11", "-Wall", "-Werror", source, "-o", program, *flags.stdout.split())
    printed = run(program, "10", "20", "30", LD_LIBRARY_PATH=str(prefix / "lib"))
    assert printed == EXPECTED


# Two filters, 2 * 0.5 and -4 * 0.25, the second with a bias of 40 * 0.25: x, and 10 - x.
EXPECTED = "10 0 20 0 30 0\n"
