# SPDX-License-Identifier: Apache-2.0
"""The binder transport alone, on the kernel's own driver."""

import os
from pathlib import Path

import pytest

from halyard.devices import WORK_FOLDER, VirtualDevice

ROOT = Path(__file__).parents[2]


def selftest() -> Path:
    """It is a test, so no part of the package: it lies in the build folder."""
    given = os.environ.get("HALYARD_NATIVE_DIR")
    path = (Path(given) if given else ROOT / "build/release") / "binder_selftest"
    if path.is_file():
        return path
    pytest.skip("binder_selftest is not built: ninja -C build/release halyard_tests")


def test_the_transport_keeps_its_promises(device: VirtualDevice) -> None:
    remote = f"{WORK_FOLDER}/binder_selftest"
    device.push(selftest(), remote)
    result = device.shell(f"{remote} /dev/binder", timeout=300)
    print(result.stdout)
    claims = result.stdout.splitlines()
    assert [claim for claim in claims if not claim.startswith("ok ")] == [], result.stderr
    assert len(claims) > 5
    assert result.exit_code == 0
