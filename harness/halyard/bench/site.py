# SPDX-License-Identifier: Apache-2.0
"""Where our engine runs: in a process on this machine, inside LiteRT's runtime there, or as a
service on a device."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from halyard.devices import LiteRtDevice
from halyard.devices.device import Device, ServiceOptions, Wire
from halyard.engines.device_process import DeviceProcess
from halyard.engines.engine import Engine
from halyard.engines.halyard import TITLE, HalyardProcess
from halyard.engines.in_litert import InLiteRt
from halyard.engines.served import Served
from halyard.engines.served_parts import ServedParts
from halyard.engines.workload import Workload
from halyard.model import RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.programs import native
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import resolve_transport
from halyard.transport.hal_version import Choice


@dataclass(frozen=True)
class Site:
    """A device that has binder gets a service for each model, or is asked for the one that is
    registered as `instance`. Others run the driver in the runner's process, or LiteRT's runtime."""

    device: Device
    mode: pb.ExecutionMode = pb.EXECUTION_MODE_SYNC
    hal: Choice = field(default_factory=Choice)  # of no more than one version
    instance: str | None = None  # of a service that is there
    service: ServiceOptions = field(default_factory=ServiceOptions)

    @property
    def target(self) -> Target:
        if not self.device.has_binder:
            return Target.within(self.device)
        return Target.service(self.instance or self.service.instance, self.wire)

    @property
    def is_in_litert(self) -> bool:
        """Models go to LiteRT whole, and what Halyard does not take there is LiteRT's own."""
        return isinstance(self.device, LiteRtDevice)

    @property
    def wire(self) -> Wire:
        return self.hal.wires[0]

    @property
    def version(self) -> pb.HalVersion:
        return self.hal.versions[0] if self.hal.versions else pb.HAL_VERSION_UNSPECIFIED

    def reaching(self, model: RunnableModel, option: str = "--hal ") -> Self:
        """Through a version that carries the model. ConfigError where `hal` names one that does
        not; `option` is what named it."""
        resolve_transport.carrying(self.hal, model, option=option)
        return replace(
            self, hal=resolve_transport.resolve(self.hal, self.device, model, self.instance or "")
        )

    @property
    def run_options(self) -> pb.RunOptions:
        return pb.RunOptions(
            mode=self.mode,
            hal_version=self.version,
            measure_timing=True,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
        )

    def engine(self, driver: DriverOptions) -> SiteEngine:
        return SiteEngine(self, driver)


@dataclass(frozen=True)
class SiteEngine(Engine):
    site: Site
    driver: DriverOptions

    @property
    def title(self) -> str:
        return TITLE

    def prepare(self, work: Workload) -> Served:
        """Parts of a model have one service, and the host's as many threads as it."""
        if isinstance(self.site.device, LiteRtDevice):
            return InLiteRt(self.site.device.door, self.driver).prepare(work)
        with ExitStack() as stack:
            if self.site.device.has_binder and self.site.instance is None:
                stack.enter_context(self.site.device.start_service(self._service_options()))
            if isinstance(work.model, PartitionedModel):
                threads = self.driver.threads or os.cpu_count() or 1
                return ServedParts(TITLE, work, self._whole, threads, until=stack.pop_all())
            return self._whole(work, stack.pop_all())

    def _whole(self, work: Workload, until: ExitStack | None = None) -> Served:
        """The engines for a model that NNAPI runs all of. `until` is closed after it."""
        site, device = self.site, self.site.device
        if not device.has_binder:
            program = Path(device.put_program(native.RUNNER))
            return HalyardProcess(
                self.driver,
                mode=site.mode,
                program=program,
                hal=site.version,
                target=site.target,
            ).prepare(work)
        return DeviceProcess(
            TITLE, device, work, site.run_options, site.target, DEFAULT, until=until
        )

    def _service_options(self) -> ServiceOptions:
        driver, service = self.driver, self.site.service
        return ServiceOptions(
            program=service.program,
            instance=service.instance,
            wires=(self.site.wire,),
            backends=driver.backends,
            threads=driver.threads or None,
            fast_math=driver.fast_math,
        )
