# SPDX-License-Identifier: Apache-2.0
"""The driver under test: in the runner's own process, or a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from halyard.devices import Device, Service, ServiceOptions, Wire, open_config
from halyard.devices.config import DeviceConfig
from halyard.errors import DeviceError
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version
from halyard.vm.virtual_machine import StageListener


class Driver:
    """A device with the driver on it. Where the device has binder a service is started, unless
    `instance` names one that is there; what was started here is started again when it dies, and
    ended with this object. `wires` are those that it is reached on; the first is for cases
    that name no version."""

    def __init__(
        self,
        device: Device,
        config: DeviceConfig,
        backends: Sequence[str],
        instance: str | None,
        wires: Sequence[Wire] = (Wire.HIDL,),
    ) -> None:
        self.device = device
        self._wires = tuple(wires)
        self._service: Service | None = None
        self._starts_service = device.has_binder and instance is None
        # A service has its own.
        self.backends = () if device.has_binder else tuple(backends)
        self._options = ServiceOptions(
            program=config.service.program,
            instance=instance or config.service.instance,
            wires=self._wires,
            backends=tuple(backends),
        )
        self.restarts = 0

    @classmethod
    def open(
        cls,
        config: DeviceConfig,
        *,
        backends: Sequence[str] = (),
        instance: str | None = None,
        wires: Sequence[Wire] = (Wire.HIDL,),
        on_stage: StageListener | None = None,
    ) -> Self:
        """Opens the device and starts the service."""
        device = open_config(config, on_stage)
        try:
            driver = cls(device, config, backends, instance, wires)
            driver.start()
        except BaseException:
            device.close()
            raise
        return driver

    def target(self, version: pb.HalVersion) -> Target:
        """The target that the runner is to drive for that version."""
        if not self.device.has_binder:
            return Target.within(self.device)
        unspecified = version == pb.HAL_VERSION_UNSPECIFIED
        wire = self._wires[0] if unspecified else hal_version.wire_of(version)
        return Target.service(self._options.instance, wire)

    @property
    def targets(self) -> str:
        """All of them, for people."""
        if not self.device.has_binder:
            return Target.within(self.device).name
        return ", ".join(Target.service(self._options.instance, wire).name for wire in self._wires)

    @property
    def is_restarted(self) -> bool:
        """Whether a service that dies is started again here."""
        return self._starts_service

    @property
    def newest(self) -> pb.HalVersion:
        """The newest HAL version that the target offers; HAL_VERSION_UNSPECIFIED: not known."""
        if not self.device.has_binder:
            return pb.HAL_VERSION_UNSPECIFIED
        return hal_version.newest_of(self._wires)

    def start(self) -> None:
        if self._starts_service:
            self._service = self.device.start_service(self._options)

    def restart(self) -> None:
        """Ends the service, whatever state it is in, and starts another one."""
        self.restarts += 1
        self._end_service()
        self.start()

    def log_tail(self, lines: int = 10) -> list[str]:
        """The last that the service wrote; nothing in-process."""
        return self._service.log().splitlines()[-lines:] if self._service is not None else []

    def last_words(self) -> list[str]:
        """Of a service that a case has brought down: once it is started again they are gone."""
        try:
            return self.log_tail()
        except DeviceError as error:
            return [error.message]

    def _end_service(self) -> None:
        service, self._service = self._service, None
        if service is not None:
            service.stop()

    def close(self) -> None:
        try:
            self._end_service()
        except DeviceError:
            # A device that is gone has no service either; one that does not end was reported.
            return
        finally:
            self.device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
