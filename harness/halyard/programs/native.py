# SPDX-License-Identifier: Apache-2.0
"""Where the native programs and the device files lie: in an installed package, or in a checkout."""

import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from halyard.errors import ProgramMissing

SERVICE = "android.hardware.neuralnetworks@1.3-service-halyard"
# The same program, as AIDL's services are called.
AIDL_SERVICE = "android.hardware.neuralnetworks-service-halyard"
RUNNER = "halyard-runner"
ADBD = "adbd"
HWSERVICEMANAGER = "hwservicemanager"
SERVICEMANAGER = "servicemanager"
PROGRAMS = (SERVICE, RUNNER, ADBD, HWSERVICEMANAGER, SERVICEMANAGER)
# No programs, but NNAPI's C functions over the driver, for programs to link or to load.
LIBRARY = "libneuralnetworks.so"
SUPPORT_LIBRARY = "libhalyard_nnapi_sl.so"
# No program, but what QEMU loads on this machine to count those of another one's instructions.
INSTRUCTION_COUNTER = "instruction-counter.so"

# The CMake presets of builds for other machines than this one, by what their kernels call them.
_CROSS_BUILDS: Mapping[str, str] = {"aarch64": "arm64"}
# Those of builds with an NDK, which run on Android alone.
_BIONIC_BUILDS: Mapping[str, str] = {
    "aarch64": "android-arm64-v8a",
    "x86_64": "android-x86_64",
}

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "native"
_CHECKOUT = _PACKAGE.parent.parent


def program(name: str, machine: str | None = None) -> Path:
    """The program's file; `service` stands for the service's long name.

    `machine` is what the kernel there says to `uname -m`; left out: this machine's.
    """
    file_name = SERVICE if name == "service" else name
    if file_name not in (*PROGRAMS, INSTRUCTION_COUNTER):
        raise ProgramMissing(
            f"there is no program {name}; there are service, {', '.join(PROGRAMS)}"
        )
    return _file(file_name, machine)


def library(name: str) -> Path:
    """LIBRARY or SUPPORT_LIBRARY, of this machine's build."""
    return _file(name, None)


def _file(file_name: str, machine: str | None) -> Path:
    path = folder(machine) / file_name
    if not path.is_file():
        if path.parent == _INSTALLED:
            hint = "install the package again"
        elif machine is None or machine == platform.machine():
            hint = "build it there with ninja, or name another build in HALYARD_NATIVE_DIR"
        elif _INSTALLED.is_dir() and _variable(machine) not in os.environ:
            raise ProgramMissing(
                f"the package that is installed has no programs for {machine}: "
                f"{_how_to_get(machine)}"
            )
        else:
            hint = _how_to_get(machine)
        raise ProgramMissing(f"{path} is missing: {hint}")
    return path


def _how_to_get(machine: str) -> str:
    return (
        f"in a checkout, `make {_CROSS_BUILDS[machine]}` builds them; {_variable(machine)} names "
        "the folder of another build"
    )


def bionic_program(name: str, machine: str) -> Path | None:
    """The program as `make android` has built it in the checkout, for a machine as above; None: it
    has not. HALYARD_BIONIC_DIR names another build's folder."""
    override = os.environ.get("HALYARD_BIONIC_DIR")
    build = _BIONIC_BUILDS.get(machine)
    if override is None and build is None:
        return None
    path = (Path(override) if override else _CHECKOUT / "build" / str(build)) / name
    return path if path.is_file() else None


def lacking(machine: str) -> str:
    """In a few words, that there are no programs for a machine; empty if there are."""
    try:
        program(RUNNER, machine)
    except ProgramMissing:
        target = _CROSS_BUILDS.get(machine, "programs")
        return f"no programs for it: `make {target}` in a checkout"
    return ""


def folder(machine: str | None = None) -> Path:
    """The folder of the programs for a machine.

    HALYARD_NATIVE_DIR, a CMake build folder, goes before all; for another machine than this one,
    HALYARD_NATIVE_DIR_AARCH64 and so on. An installed package carries programs for the machine that
    it was built on; in a checkout they are those of the release build, or of the machine's own
    preset, which are as new as the last `ninja`.
    """
    if machine is None:
        machine = platform.machine()
    is_here = machine == platform.machine()
    if not is_here and machine not in _CROSS_BUILDS:
        raise ProgramMissing(f"there are no programs for {machine}, a device's processor")
    override = os.environ.get("HALYARD_NATIVE_DIR" if is_here else _variable(machine))
    if override:
        return Path(override)
    if is_here:
        return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT / "build" / "release"
    return _CHECKOUT / "build" / _CROSS_BUILDS[machine]


def _variable(machine: str) -> str:
    return f"HALYARD_NATIVE_DIR_{machine.upper()}"


def checkout() -> Path:
    """The folder of the checkout, where the package is installed from one."""
    return _CHECKOUT


def device_configs() -> Path:
    """The folder of device YAML files, .rc, VINTF fragment and sepolicy."""
    for folder in (_PACKAGE / "device-configs", _CHECKOUT / "device-configs"):
        if folder.is_dir():
            return folder
    raise ProgramMissing(f"{_PACKAGE / 'device-configs'} is missing: install the package again")


def digest(path: Path) -> str:
    """SHA-256 of a file, as sha256sum prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
