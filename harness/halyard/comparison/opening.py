# SPDX-License-Identifier: Apache-2.0
"""From the name of a side to what answers: devices opened once, services started for as long."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from halyard.comparison.choice import SideChoice
from halyard.comparison.side import HalyardSide, LibrarySide, Side
from halyard.devices import Device, ServiceOptions, open_config
from halyard.driver_options import DriverOptions
from halyard.engines import litert
from halyard.engines.engine import Library
from halyard.engines.halyard import HalyardDevice
from halyard.engines.libraries import library
from halyard.hal_version import wire_of
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target


class Sides:
    """Leaving the context stops the services and closes the devices."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._devices: dict[str, Device] = {}
        self._services = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def open(self, choice: SideChoice) -> Side:
        """EngineMissing for a library that is not installed; DeviceError for a device that is not
        there. Two sides of the same device share it."""
        if choice.library:
            return LibrarySide(choice.text, _library(choice.library))
        if choice.device not in self._devices:
            self._devices[choice.device] = self._stack.enter_context(open_config(choice.config))
        device = self._devices[choice.device]
        version = choice.hal.versions[0] if choice.hal.versions else pb.HAL_VERSION_UNSPECIFIED
        options = pb.RunOptions(
            mode=pb.EXECUTION_MODE_ASYNC,
            hal_version=version,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
        )
        target, driver = self._target(choice, device), _driver(choice)
        return HalyardSide(choice.text, HalyardDevice(device, target, options, driver))

    def _target(self, choice: SideChoice, device: Device) -> Target:
        wire = wire_of(choice.hal.versions[0]) if choice.hal.versions else choice.hal.newest_of
        if choice.instance:
            return Target.service(choice.instance, wire)
        if not device.has_binder:
            return Target.in_process()
        config = choice.config.service
        # A service of its own for each side, as they may have different backends.
        self._services += 1
        name = config.instance if self._services == 1 else f"{config.instance}-{self._services}"
        service = self._stack.enter_context(
            device.start_service(
                ServiceOptions(
                    program=config.program,
                    instance=name,
                    wires=[wire],
                    backends=choice.backends,
                )
            )
        )
        return Target.service(service.instance, wire)


def _driver(choice: SideChoice) -> DriverOptions:
    more = ["--backend-dir", str(Path(choice.backend_folder).resolve())]
    return DriverOptions(choice.backends, more=more if choice.backend_folder else ())


def _library(name: str) -> Library:
    if name == "litert-reference":
        return litert.LiteRt(kernels=litert.Kernels.REFERENCE)
    return library(name)
