# SPDX-License-Identifier: Apache-2.0
"""C++ programs that are tests and run on a device: they lie in the build folder, in no package."""

from halyard.devices import WORK_FOLDER, VirtualDevice
from halyard.errors import ProgramMissing
from halyard.programs import native


def put_test_program(device: VirtualDevice, name: str) -> str:
    """Its path on the device, where it is pushed unless it is there. ProgramMissing if it is not
    built."""
    local = native.folder() / name
    if not local.is_file():
        raise ProgramMissing(
            f"{local} is missing: cmake --build {local.parent} -t halyard_device_tests"
        )
    remote = f"{WORK_FOLDER}/{name}"
    if device.shell(f"sha256sum {remote}").stdout.split()[:1] != [native.digest(local)]:
        device.push(local, remote)
    return remote
