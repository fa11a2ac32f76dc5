# SPDX-License-Identifier: Apache-2.0
"""The libraries that a program needs, on this machine's own programs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from halyard.errors import VmError
from halyard.vm.elf import closure, needs
from halyard.vm.machine_type import X86_64

if os.uname().machine != "x86_64":
    pytest.skip("the programs of this machine are not for x86-64", allow_module_level=True)


def compiled(folder: Path, name: str, source: str, *arguments: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["cc", f"{name}.c", "-o", name, *arguments], cwd=folder, check=True, timeout=60)
    return folder / name


def test_a_program_needs_what_the_loader_loads() -> None:
    program = Path(shutil.which("git") or "/bin/ls").resolve()
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    expected = {Path(path).name for path in re.findall(r"(/\S+) \(0x", loaded)}
    found = closure([program], X86_64.elf_machine, X86_64.library_folders)
    assert {Path(name).name for name in found} == expected
    assert all(path.is_file() for path in found.values())


def test_the_interpreter_is_where_the_program_looks_for_it() -> None:
    interpreter, _, _ = needs(Path("/bin/ls"), X86_64.elf_machine)
    assert interpreter in closure([Path("/bin/ls")], X86_64.elf_machine, X86_64.library_folders)


def test_libraries_beside_the_program_are_found(tmp_path: Path) -> None:
    compiled(tmp_path, "libside.so", "int side(void) { return 1; }", "-shared", "-fPIC")
    program = compiled(
        tmp_path,
        "program",
        "int side(void); int main(void) { return side(); }",
        "./libside.so",
        "-Wl,-soname,x",
        "-Wl,-rpath,$ORIGIN",
    )
    _, libraries, folders = needs(program, X86_64.elf_machine)
    assert str(tmp_path) in folders
    if "libside.so" in libraries:
        assert str(tmp_path / "libside.so") in closure(
            [program], X86_64.elf_machine, X86_64.library_folders
        )


def test_a_static_program_needs_nothing(tmp_path: Path) -> None:
    program = compiled(tmp_path, "alone", "void _start(void) { for (;;); }", "-static", "-nostdlib")
    assert closure([program], X86_64.elf_machine, X86_64.library_folders) == {}


def test_a_missing_library_is_named_with_who_needs_it() -> None:
    with pytest.raises(VmError, match=r"/bin/ls needs \S+, which is in none of /nowhere"):
        closure([Path("/bin/ls")], X86_64.elf_machine, ["/nowhere"])


def test_a_program_for_another_machine_is_refused() -> None:
    with pytest.raises(VmError, match="is for EM_X86_64, not EM_AARCH64"):
        needs(Path("/bin/ls"), "EM_AARCH64")


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n")
    with pytest.raises(VmError, match="text"):
        needs(tmp_path / "text", X86_64.elf_machine)
