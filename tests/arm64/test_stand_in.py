# SPDX-License-Identifier: Apache-2.0
"""What `make android` builds, as far as a stand-in for an NDK tells: the service, the runner,
libhalyard.so and NNAPI's support library need nothing of bionic's that is missing at API 30, and
suit pages of 16 KiB.

They are linked against libraries that have nothing newer. So much depends on these: that the
programs are of that build, and that a link fails where a name lacks.
"""

import subprocess
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from halyard.programs import native
from halyard.programs.linkage import HEAD_BYTES, linkage
from tests.bionic.stand_in_ndk import LEVEL, levels

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build/stand-in"
LIBRARY = "libhalyard.so"
# As an app takes it, without its symbols.
SUPPORT_LIBRARY = f"nnapi/jniLibs/arm64-v8a/{native.SUPPORT_LIBRARY}"
FILES = (native.SERVICE, native.RUNNER, LIBRARY, SUPPORT_LIBRARY)
PAGE = 16384

if not (BUILD / native.RUNNER).is_file():
    pytest.skip("nothing is built: `make stand-in` does it", allow_module_level=True)


def needed(name: str) -> tuple[set[str], set[str]]:
    """The libraries that a file names, and what it takes of them."""
    with (BUILD / name).open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(dynamic, DynamicSection)
        assert isinstance(symbols, SymbolTableSection)
        libraries = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
        names = {each.name for each in symbols.iter_symbols() if each["st_shndx"] == "SHN_UNDEF"}
    return libraries, names - {""}


@pytest.mark.parametrize("name", FILES)
def test_needs_nothing_that_is_newer_than_its_level(name: str) -> None:
    known = levels()
    libraries, names = needed(name)
    assert {"libc.so", "libdl.so"} <= libraries <= {f"{library}.so" for library in known}
    since = {symbol: level for of_library in known.values() for symbol, level in of_library.items()}
    assert {symbol for symbol in names if since.get(symbol, LEVEL + 1) > LEVEL} == set()
    # So many that it is no program of some lines; and what GpuAcc loads OpenCL with.
    assert len(names) > 50
    assert {"dlopen", "dlsym", "dl_iterate_phdr"} <= names


def test_an_app_gets_the_support_library_and_not_the_systems_name() -> None:
    folder = BUILD / "nnapi"
    assert {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()} == {
        f"jniLibs/arm64-v8a/{native.SUPPORT_LIBRARY}",
        "include/halyard/android/NeuralNetworks.h",
        "include/halyard/android/SupportLibrary.h",
    }


def test_the_support_library_exports_one_function() -> None:
    with (BUILD / SUPPORT_LIBRARY).open("rb") as file:
        elf = ELFFile(file)
        symbols, dynamic = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".dynamic")
        assert isinstance(symbols, SymbolTableSection)
        assert isinstance(dynamic, DynamicSection)
        exported = {each.name for each in symbols.iter_symbols() if each["st_shndx"] != "SHN_UNDEF"}
        [name] = [tag.soname for tag in dynamic.iter_tags("DT_SONAME")]
        assert elf.get_section_by_name(".symtab") is None
    assert exported == {"ANeuralNetworks_getSLDriverImpl"}
    assert name == native.SUPPORT_LIBRARY


def test_the_support_library_tells_an_app_by_logcat() -> None:
    libraries, names = needed(SUPPORT_LIBRARY)
    assert "liblog.so" in libraries
    assert "__android_log_write" in names


@pytest.mark.parametrize("name", [native.SERVICE, native.RUNNER])
def test_a_program_is_for_bionics_loader(name: str) -> None:
    with (BUILD / name).open("rb") as file:
        found = linkage(file.read(HEAD_BYTES))
    assert found is not None
    assert found.is_bionic, found


@pytest.mark.parametrize("name", FILES)
def test_segments_begin_where_large_pages_do(name: str) -> None:
    with (BUILD / name).open("rb") as file:
        loaded = list(ELFFile(file).iter_segments("PT_LOAD"))
    assert loaded
    for each in loaded:
        assert each["p_align"] >= PAGE, each.header
        assert (each["p_vaddr"] - each["p_offset"]) % PAGE == 0, each.header


@pytest.mark.parametrize("name", [native.SERVICE, native.RUNNER, native.ADBD])
def test_segments_of_static_programs_do_as_well(name: str) -> None:
    with (ROOT / "build/arm64" / name).open("rb") as file:
        loaded = list(ELFFile(file).iter_segments("PT_LOAD"))
    assert {each["p_align"] >= PAGE for each in loaded} == {True}


@pytest.mark.parametrize(
    ("call", "links"), [("dlopen(nullptr, 0)", True), ("explicit_bzero(nullptr, 0)", False)]
)
def test_a_program_that_calls_what_bionic_lacks_is_not_linked(
    call: str, links: bool, tmp_path: Path
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(one CXX)\n"
        "add_executable(one one.cc)\ntarget_link_libraries(one dl)\n"
    )
    (tmp_path / "one.cc").write_text(
        f"#include <dlfcn.h>\n#include <string.h>\nint main() {{ {call}; }}\n"
    )
    ndk = ROOT / "build/stand-in-ndk/build/cmake/android.toolchain.cmake"
    options = [f"-DCMAKE_TOOLCHAIN_FILE={ndk}", "-DANDROID_PLATFORM=android-30"]
    options += ["-DANDROID_STL=c++_static", "-DANDROID_ABI=arm64-v8a"]
    build = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", *options]
    subprocess.run(build, check=True, capture_output=True)
    done = subprocess.run(["cmake", "--build", tmp_path / "build"], capture_output=True, text=True)
    assert (done.returncode == 0) == links, done.stdout
    assert ("undefined symbol: explicit_bzero" in done.stdout) != links


def test_the_other_processor_configures_with_the_same_preset(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "-n", "android", "NDK=build/stand-in-ndk", "ABI=x86_64"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "--preset android-x86_64" in done.stdout
    command = ["cmake", "--preset", "android-x86_64", "-B", tmp_path]
    command += [f"-DHALYARD_PROTOBUF={ROOT / 'build/protobuf'}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "ANDROID_NDK_ROOT": str(ROOT / "build/stand-in-ndk")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rules = (tmp_path / "CMakeFiles/rules.ninja").read_text()
    assert "--target=x86_64-linux-android30" in rules
    assert "-z,max-page-size=16384" in (tmp_path / "build.ninja").read_text()


def test_an_ndk_that_is_not_named_is_asked_for() -> None:
    done = subprocess.run(["make", "-n", "android"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "NDK=DIR names an NDK" in done.stderr
