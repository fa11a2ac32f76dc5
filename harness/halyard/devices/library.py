# SPDX-License-Identifier: Apache-2.0
"""This machine with a library of NNAPI's C functions, which the runner loads as programs do."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from halyard.devices.host import HostDevice
from halyard.errors import ConfigError
from halyard.programs import native

Interface = Literal["ndk", "ndk-sl"]

_OWN = {"ndk": native.LIBRARY, "ndk-sl": native.SUPPORT_LIBRARY}


class LibraryDevice(HostDevice):
    """Models go through the functions of a libneuralnetworks.so (`ndk`), on the devices that it
    chooses, or of a support library (`ndk-sl`), on its first one."""

    def __init__(self, interface: Interface, library: Path | None = None) -> None:
        """`library`: left out: Halyard's own. ConfigError for a file that is not there."""
        self.is_own = library is None
        self.library = native.library(_OWN[interface]) if library is None else library.absolute()
        if not self.library.is_file():
            raise ConfigError(f"{self.library}: there is no such library")
        super().__init__()
        self.interface: Interface = interface
        self.serial = interface if self.is_own else f"{interface}:{self.library}"
