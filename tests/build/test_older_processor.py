# SPDX-License-Identifier: Apache-2.0
"""Programs that are built for a newer processor than the one that builds them."""

import platform
import shutil
import subprocess

import pytest

from halyard.programs import native

EMULATOR = "qemu-x86_64-static"
# Which kernels AMX would have, and how weights are packed.
CHOICES = "SplitProductsOfCpuAcc.*:TileProductsOfCpuAcc.*:PanelColumns.*:SplitColumns.*"


def test_builds_programs_for_processors_that_have_more() -> None:
    """Kernels of AMX are compiled where there is neither it nor AVX-512: packing weights is no
    reason to use what they are packed for."""
    if platform.machine() != "x86_64":
        pytest.skip("a matter of x86-64's instruction sets")
    tests = native.folder() / "engine_tests"
    if not tests.is_file():
        pytest.skip("the C++ tests are not built: make test-native")
    if shutil.which(EMULATOR) is None:
        pytest.skip(f"{EMULATOR} is not installed: apt install qemu-user-static")
    done = subprocess.run(
        [EMULATOR, "-cpu", "Haswell", tests, f"--gtest_filter={CHOICES}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]
    assert "[  PASSED  ]" in done.stdout
