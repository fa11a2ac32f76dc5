# SPDX-License-Identifier: Apache-2.0
"""Claims of programs around the library; each prints those that do not hold."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.harness import opencl
from tests.harness.tflite_file import GraphFile

from .conftest import run

Programs = Callable[[str], Path]


def test_runs_programs_as_they_should(program: Programs) -> None:
    """Known values, borrowed constants, saved programs, control flow, limits, profiles."""
    assert run(program("running")) == ""


def test_imports_tflite_files(program: Programs, tmp_path: Path) -> None:
    """Known values; bytes that are copied or lent; files that are cut anywhere."""
    graph = GraphFile()
    x, total = graph.input((1, 4)), graph.tensor((1, 4))
    one = graph.constant(np.ones(1, np.float32))
    graph.add("ADD", [x, one], [total], "AddOptions", fusedActivationFunction=1)
    file = tmp_path / "add.tflite"
    file.write_bytes(graph.content(total))
    assert run(program("importing"), file) == ""


def test_refuses_what_breaks_the_rules(program: Programs) -> None:
    assert run(program("hostile")) == ""


def test_does_to_the_process_only_what_it_is_asked_for(program: Programs) -> None:
    """No thread, process, signal handler or permission; two logs; an executor of the host's."""
    assert run(program("manners"), OCL_ICD_VENDORS="/nonexistent") == ""


@pytest.mark.parametrize("backend", ["CpuRef", "CpuAcc"])
def test_uses_memory_where_it_lies(program: Programs, backend: str) -> None:
    """Borrowed memory, an allocator, constants that are kept once; no byte copied and nothing
    allocated in the steady state, on any thread."""
    assert run(program("memory"), backend) == ""


def test_keeps_bytes_on_a_device_from_program_to_program(program: Programs) -> None:
    """No byte copied, and nothing that libhalyard.so allocates: what the vendor's library does is
    its own."""
    with opencl.visible():
        printed = run(program("memory"), f"{opencl.BACKEND},CpuAcc")
    if printed == "no device\n":
        pytest.skip("OpenCL has no device here: apt install pocl-opencl-icd")
    assert printed == ""


def test_leaves_nothing_behind_when_it_is_unloaded(program: Programs, prefix: Path) -> None:
    cycles = program("cycles")
    # Else malloc keeps some chunks for each thread, which count as in use.
    exact = "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"
    printed = run(cycles, cycles.parent / "libguest.so", 1000, GLIBC_TUNABLES=exact)
    assert printed.startswith("threads ")


def test_leaks_nothing_and_reads_nothing_undefined(program: Programs) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed: apt install valgrind")
    cycles = program("cycles")
    run(
        *(valgrind, "--quiet", "--error-exitcode=9", "--leak-check=full"),
        *("--errors-for-leak-kinds=definite,indirect", cycles),
        *(cycles.parent / "libguest.so", 1),
    )
