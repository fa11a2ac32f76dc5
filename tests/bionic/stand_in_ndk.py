# SPDX-License-Identifier: Apache-2.0
"""A folder in the shape of an NDK, where there is none: `make android NDK=FOLDER` builds with it.

What it makes can't run; that it compiles and links is the proof. Its libraries are stubs that
define names: libc, libm, libdl and liblog those that bionic has at an API level (symbols.json),
libc++ and libunwind those of Debian's, the compiler's runtime those of libgcc. So a program links
if it needs nothing else of them. In place of bionic's headers are musl's and the kernel's, with
headers/ before them where bionic's differ in what they have programs call.

Usage: python -m tests.bionic.stand_in_ndk FOLDER [LEVEL]
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from halyard import paths
from halyard.errors import HalyardError
from halyard.vm.debian import Packages

_HERE = Path(__file__).parent
LEVEL = 30
_LLVM = Path("/usr/lib/llvm-19")
# By ABI: what compilers call the processor, and what Debian does.
ABIS: Mapping[str, tuple[str, str]] = {
    "arm64-v8a": ("aarch64", "arm64"),
    "x86_64": ("x86_64", "amd64"),
}


def levels() -> dict[str, dict[str, int]]:
    """Of each library of bionic's: the API level that brought each name."""
    document = json.loads((_HERE / "symbols.json").read_text())
    return {
        library: {name: int(level) for level, names in lists.items() for name in names.split()}
        for library, lists in document.items()
    }


def make(folder: Path, level: int = LEVEL) -> None:
    """All of it, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    toolchain = folder / "build/cmake/android.toolchain.cmake"
    toolchain.parent.mkdir(parents=True)
    shutil.copy(_HERE / toolchain.name, toolchain)
    resources = folder / "resources"
    (resources / "lib/linux").mkdir(parents=True)
    (resources / "include").symlink_to(_LLVM / "lib/clang/19/include")
    for processor, debian in ABIS.values():
        target = f"{processor}-linux-android"
        headers = folder / "sysroot/usr/include" / target
        _put_headers(headers, folder / "debian" / debian, debian, processor)
        libraries = folder / "sysroot/usr/lib" / target / str(level)
        libraries.mkdir(parents=True)
        for library, names in levels().items():
            there = [name for name, since in names.items() if since <= level]
            _shared(libraries / f"{library}.so", target, there)
        _start_files(libraries, target)
        runtime = _defined([_LLVM / "lib/libc++.a", _LLVM / "lib/libc++abi.a"])
        _archive(libraries.parent / "libc++_static.a", target, runtime)
        _archive(libraries.parent / "libc++abi.a", target, [])
        (libraries / "libc++.a").write_text("INPUT(-lc++_static -lc++abi)\n")
        _archive(
            resources / f"lib/linux/libclang_rt.builtins-{processor}-android.a",
            target,
            _defined([_libgcc(processor)]),
        )
        unwinder = resources / "lib/linux" / processor / "libunwind.a"
        unwinder.parent.mkdir()
        _archive(unwinder, target, _defined([_LLVM / "lib/libunwind.a"]))
    # The same for all of them.
    shutil.copytree(_HERE / "headers", folder / "sysroot/usr/include/bionic")
    cpp = folder / "sysroot/usr/include/c++"
    cpp.mkdir()
    (cpp / "v1").symlink_to(_LLVM / "include/c++/v1")


def _put_headers(folder: Path, packages: Path, architecture: str, processor: str) -> None:
    """All of one target in one folder: the compiler looks into it before any other."""
    packages.mkdir(parents=True)
    Packages(architecture, paths.cache()).unpack(["musl-dev", "linux-libc-dev"], packages)
    kernel = packages / "usr/include"
    shutil.copytree(kernel / f"{processor}-linux-musl", folder)
    for name in ("linux", "asm-generic", "drm", "sound", "rdma", "misc", "mtd", "video", "scsi"):
        if (kernel / name).is_dir():
            shutil.copytree(kernel / name, folder / name, dirs_exist_ok=True)
    shutil.copytree(kernel / f"{processor}-linux-gnu/asm", folder / "asm")


def _shared(library: Path, target: str, names: Iterable[str]) -> None:
    _compile(
        [f"--target={target}", "-shared", "-nostdlib", f"-Wl,-soname,{library.name}"],
        library,
        "".join(f".globl {name}\n.type {name}, %function\n{name}:\n" for name in sorted(names)),
    )


def _archive(library: Path, target: str, names: Iterable[str]) -> None:
    """Weak, as programs may have some of them themselves."""
    member = library.with_suffix(".o")
    text = "".join(f".weak {name}\n{name}:\n" for name in sorted(names))
    _compile([f"--target={target}", "-c"], member, text)
    _run(["llvm-ar-19", "rcs", str(library), str(member)])
    member.unlink()


def _start_files(folder: Path, target: str) -> None:
    start = ".globl _start\n_start:\n.data\n.quad main\n"
    for name, text in {
        "crtbegin_dynamic.o": start,
        "crtend_android.o": "",
        "crtbegin_so.o": "",
        "crtend_so.o": "",
    }.items():
        _compile([f"--target={target}", "-c"], folder / name, text)


def _compile(options: Sequence[str], output: Path, assembler: str) -> None:
    command = ["clang-19", *options, "-fuse-ld=lld-19", "-Wno-unused-command-line-argument"]
    command += ["-x", "assembler", "-", "-o", str(output)]
    _run(command, assembler)


def _defined(libraries: Sequence[Path]) -> set[str]:
    """The names that libraries define for others."""
    options = ["--defined-only", "--extern-only", "--format=just-symbols"]
    said = _run(["llvm-nm-19", *options, *map(str, libraries)])
    return {line for line in said.splitlines() if line and not line.endswith(":")}


def _libgcc(processor: str) -> Path:
    compiler = {"aarch64": "aarch64-linux-gnu-gcc", "x86_64": "gcc"}[processor]
    return Path(_run([compiler, "-print-libgcc-file-name"]).strip())


def _run(command: Sequence[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def main(words: Sequence[str]) -> int:
    if not 1 <= len(words) <= 2:
        print("python -m tests.bionic.stand_in_ndk FOLDER [LEVEL]", file=sys.stderr)
        return 2
    try:
        make(Path(words[0]).absolute(), int(words[1]) if len(words) > 1 else LEVEL)
    except HalyardError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
