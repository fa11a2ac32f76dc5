# SPDX-License-Identifier: Apache-2.0
"""The virtual device: a phone on adb that lives in QEMU on this machine."""

import contextlib
import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Self

from halyard import paths
from halyard.devices.adb import AdbDevice
from halyard.devices.adb_link import tcp_link
from halyard.devices.device import WORK_FOLDER, Service, ServiceOptions
from halyard.errors import VmError
from halyard.programs import native
from halyard.vm import initramfs, kernel, sanitizers
from halyard.vm.virtual_machine import (
    Resident,
    StageListener,
    VirtualMachine,
    VmOptions,
    booted,
)

_LOG = logging.getLogger(__name__)

_HOST = "127.0.0.1"
# One attempt of many, while the device boots.
_PROBE_TIMEOUT = 2.0


def answers(port: int) -> None:
    """Raises DeviceError unless a shell command gets through."""
    link = tcp_link(_HOST, port)
    with AdbDevice(link, f"{_HOST}:{port}", connect_timeout=_PROBE_TIMEOUT) as device:
        device.shell("true", timeout=_PROBE_TIMEOUT).check()


class VirtualDevice(AdbDevice):
    """An AdbDevice with a machine, which ends with it if it was booted for it."""

    def __init__(
        self, machine: VirtualMachine, release: Callable[[], object] | None = None
    ) -> None:
        super().__init__(tcp_link(_HOST, machine.port), f"{_HOST}:{machine.port}")
        self.machine = machine
        self._release = release

    @classmethod
    def open(
        cls,
        options: VmOptions | None = None,
        on_stage: StageListener | None = None,
        *,
        asked: Collection[str] = (),
    ) -> Self:
        """The resident one of that architecture if it runs, and is as the options say of what is
        asked for: fields of theirs; else one of its own."""
        options = options or VmOptions()
        machine = Resident(machine=options.machine, name=options.name).running()
        if machine is None:
            return cls.boot(options, on_stage)
        differs = machine.differences(options, asked)
        if differs:
            _LOG.warning("the virtual device that runs has %s: booting another", "; ".join(differs))
            return cls.boot(options, on_stage)
        return cls(machine)

    @classmethod
    def boot(cls, options: VmOptions | None = None, on_stage: StageListener | None = None) -> Self:
        """One of its own, ended when the device is closed."""
        with contextlib.ExitStack() as stack:
            machine = stack.enter_context(booted(options or VmOptions(), answers, on_stage))
            return cls(machine, stack.pop_all().close)

    @property
    def is_emulated(self) -> bool:
        return self.machine.is_emulated

    @property
    def is_own(self) -> bool:
        return self._release is not None

    def start_service(self, options: ServiceOptions | None = None) -> Service:
        """As on any device; pushes the program where the machine was booted with another one, and
        has it end with a system call that it is not known to make, so that a missing one shows.
        Sanitizers and GPUs' drivers make calls of their own, so that a service with one of them is
        not restricted."""
        options = options or ServiceOptions()
        unknown = self.machine.sanitized or options.asks_for_gpu()
        unless_told = "off" if unknown else "enforce"
        options = replace(options, seccomp=options.seccomp or unless_told)
        if options.program == ServiceOptions.program and self.is_outdated:
            _LOG.warning("the virtual device was booted with other programs: pushing the service")
            options = replace(options, program=self.put_program(native.SERVICE))
        return super().start_service(options)

    @property
    def is_outdated(self) -> bool:
        """Whether the machine was booted with other programs than this machine has now."""
        programs = initramfs.native_programs(self.machine.machine)
        return self.machine.programs != initramfs.digest(programs)

    def load_module(self, name: str) -> None:
        """Has the kernel load one of the machine's `loadable` modules, and what it depends on.
        VmError where the kernel has none of that name."""
        found = kernel.find(self.machine.machine, paths.cache())
        if found.release != self.machine.kernel or name not in found.loadable:
            raise VmError(f"Linux {self.machine.kernel} has no module {name} that can be loaded")
        loaded = {line.split()[0] for line in self.shell("cat /proc/modules").stdout.splitlines()}
        with paths.Temporary("modules") as folder:
            for module in found.loadable[name]:
                if module.name not in loaded:
                    local = folder / f"{module.name}.ko"
                    local.write_bytes(module.image)
                    remote = f"{WORK_FOLDER}/{local.name}"
                    self.push(local, remote)
                    self.shell(f"insmod {remote}; status=$?; rm {remote}; exit $status").check()

    def take_findings(self) -> str:
        """The reports of sanitizers since this was asked last; empty: there are none."""
        if not self.machine.sanitized:
            return ""
        return self.shell(sanitizers.TAKE_FINDINGS).check().stdout

    def close(self) -> None:
        """Closes the connection and ends the machine if it is this device's own."""
        super().close()
        if self._release is not None:
            self._release()
            self._release = None
