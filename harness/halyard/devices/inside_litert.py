# SPDX-License-Identifier: Apache-2.0
"""This machine with LiteRT's runtime, which loads Halyard, by one of its doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from halyard.devices.host import HostDevice

# Each has an engine in engines/libraries.py.
Door = Literal["litert-delegate", "litert-npu"]
DOORS: tuple[Door, ...] = get_args(Door)

# Options that do not reach through a door, and why. The others' are those of DriverOptions.
LACKING: Mapping[Door, Mapping[str, str]] = {
    "litert-delegate": {},
    "litert-npu": {
        "--backends": "has no way through LiteRT's vendor interface, by which CpuAcc compiles",
        "--cache-dir": "has no way through LiteRT's vendor interface, which compiles anew",
    },
}

# For commands that want more than models run.
REFUSAL = (
    "it is LiteRT's runtime on this machine with Halyard inside, which runs models and nothing "
    "else: there is no driver of NNAPI's to ask, no service and no place for files. halyard run, "
    "bench and compare take it"
)


class LiteRtDevice(HostDevice):
    """Models go to LiteRT as .tflite files, and it hands Halyard what that takes of them."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self.door: Door = door
        self.serial = door
