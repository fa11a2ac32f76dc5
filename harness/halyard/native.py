# SPDX-License-Identifier: Apache-2.0
"""Where the native programs and the device files lie: in an installed package, or in a checkout."""

import hashlib
import os
from pathlib import Path

from halyard.errors import ProgramMissing

SERVICE = "android.hardware.neuralnetworks@1.3-service-halyard"
RUNNER = "halyard-runner"
ADBD = "adbd"
HWSERVICEMANAGER = "hwservicemanager"
PROGRAMS = (SERVICE, RUNNER, ADBD, HWSERVICEMANAGER)

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "native"
_CHECKOUT = _PACKAGE.parent.parent


def program(name: str) -> Path:
    """The program's file; `service` stands for the service's long name."""
    file_name = SERVICE if name == "service" else name
    if file_name not in PROGRAMS:
        raise ProgramMissing(
            f"there is no program {name}; there are service, {', '.join(PROGRAMS)}"
        )
    path = folder() / file_name
    if not path.is_file():
        hint = (
            "install the package again"
            if path.parent == _INSTALLED
            else "build it there with ninja, or name another build in HALYARD_NATIVE_DIR"
        )
        raise ProgramMissing(f"{path} is missing: {hint}")
    return path


def folder() -> Path:
    """The folder of the programs.

    HALYARD_NATIVE_DIR, a CMake build folder, goes before all. An installed package carries its own;
    in a checkout they are those of the release build, which are as new as the last `ninja`.
    """
    override = os.environ.get("HALYARD_NATIVE_DIR")
    if override:
        return Path(override)
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT / "build" / "release"


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
