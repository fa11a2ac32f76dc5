# SPDX-License-Identifier: Apache-2.0
"""The service on a device behind a shell: started in the background, watched through its files."""

import logging
import re
import secrets
import shlex
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from halyard.devices import service_folder
from halyard.devices.device import WORK_FOLDER, Device, ServiceOptions, Wire
from halyard.errors import DeviceError, DeviceUnreachable, ServiceError
from halyard.programs import native

_LOG = logging.getLogger(__name__)

_POLL = 0.05
# Seconds for the last executions of a service that was asked to end, and for the kernel to tell
# the service manager of a death.
_STOP_TIMEOUT = 10.0
_UNREGISTER_TIMEOUT = 2.0

# Of a service that ended on a device whose disk was too full to keep its exit code.
UNKNOWN_EXIT_CODE = 255


def list_services(device: Device) -> list[str]:
    """Everything registered with the service managers, as "interface/name"."""
    runner = device.put_program(native.RUNNER)
    return device.shell(f"{runner} --list-services", timeout=20).check().stdout.split()


_INTERFACES: Mapping[Wire, re.Pattern[str]] = {
    Wire.HIDL: re.compile(r"android\.hardware\.neuralnetworks@[0-9.]+::IDevice"),
    Wire.AIDL: re.compile(r"android\.hardware\.neuralnetworks\.IDevice"),
}


def registered(
    services: Sequence[str], instance: str, wires: Collection[Wire] = tuple(Wire)
) -> list[str]:
    """The NNAPI interfaces under that name on these wires: HIDL's, oldest version first, then
    AIDL's."""
    return [
        name
        for wire in Wire
        if wire in wires
        for name in sorted(services)
        if name.endswith(f"/{instance}")
        and _INTERFACES[wire].fullmatch(name.removesuffix(f"/{instance}"))
    ]


class AdbService:
    """`start` makes one. Its folder on the device holds its log, its pid and its exit code until it
    has ended."""

    def __init__(self, device: Device, options: ServiceOptions, folder: str, pid: int) -> None:
        self.instance = options.instance
        self.pid = pid
        self.interfaces: Sequence[str] = ()
        self._device = device
        self._options = options
        self._folder = folder
        self._exit_code: int | None = None
        self._log: str | None = None  # once it has ended

    @classmethod
    def start(cls, device: Device, options: ServiceOptions) -> Self:
        for left in service_folder.end_leftovers(device):
            _LOG.warning(
                "ended the service %s, which a run that died had left (%s)",
                left.instance,
                left.owner,
            )
        there = device.shell(f"[ -x {shlex.quote(options.program)} ]").exit_code == 0
        if not there and options.program != ServiceOptions.program:
            raise ServiceError(
                "there is no such program on the device",
                serial=device.serial,
                command=options.program,
            )
        if not there:
            options = replace(options, program=device.put_program(native.SERVICE))
        cls._wait_for_name(device, options)
        folder = f"{WORK_FOLDER}/service-{secrets.token_hex(4)}"
        try:
            service = cls(device, options, folder, cls._launch(device, options, folder))
            service._wait_until_registered()
        except ServiceError:
            raise
        except BaseException:
            cls._clear(device, folder)
            raise
        return service

    @staticmethod
    def _clear(device: Device, folder: str) -> None:
        try:
            service_folder.kill_and_remove(device, folder)
        except DeviceError:
            # The caller has to know the first failure.
            return

    @classmethod
    def _launch(cls, device: Device, options: ServiceOptions, folder: str) -> int:
        """The process id of the service."""
        made = device.shell(service_folder.make_commands(folder, options.instance))
        launched = made
        if made.exit_code == 0:
            launched = device.shell(service_folder.launch_command(folder, options.command_line()))
        pid = launched.stdout.split()[:1]
        if launched.exit_code == 0 and pid and pid[0].isdigit():
            return int(pid[0])
        # A full disk says so only to those who write.
        why = device.shell(f"dd if=/dev/zero of={folder}/room bs=4096 count=1").stderr
        cls._clear(device, folder)
        raise ServiceError(
            f"the service can't keep its files in {WORK_FOLDER}: is the disk full? "
            "(`df` on the device tells)",
            serial=device.serial,
            command=shlex.join(options.command_line()),
            stderr=launched.stderr + why,
        )

    @staticmethod
    def _wait_for_name(device: Device, options: ServiceOptions) -> None:
        """The name must be free. A service that has just ended may still hold it for a moment."""
        end = time.monotonic() + _UNREGISTER_TIMEOUT
        wires = options.wires or tuple(Wire)
        while taken := registered(list_services(device), options.instance, wires):
            if time.monotonic() > end:
                owners = [
                    folder.owner
                    for folder in service_folder.found(device)
                    if folder.instance == options.instance and folder.owner is not None
                ]
                by = f"by halyard, {owners[0]}" if owners else "by a service not started by halyard"
                raise ServiceError(
                    f"{taken[-1]} is registered already, {by}; start the service under another "
                    f"name (--service-name NAME), or use that one (--instance {options.instance})",
                    serial=device.serial,
                )
            time.sleep(_POLL)

    def _wait_until_registered(self) -> None:
        end = time.monotonic() + self._options.timeout
        while True:
            services = list_services(self._device)
            # A service registers all its versions in one call.
            there = [wire for wire in Wire if registered(services, self.instance, [wire])]
            if there and set(there) >= set(self._options.wires):
                self.interfaces = registered(services, self.instance)
                return
            if not self.is_running():
                raise self._ended("the service ended before it was registered")
            if time.monotonic() > end:
                raise self._ended(f"the service is not registered {self._options.timeout:g} s on")
            time.sleep(_POLL)

    def _ended(self, message: str) -> ServiceError:
        """The error, after all of the service is gone."""
        error = self._error(message)
        self._stop_after_failure()
        error.exit_code = self._exit_code
        return error

    def _error(self, message: str) -> ServiceError:
        return ServiceError(
            message,
            serial=self._device.serial,
            command=shlex.join(self._options.command_line()),
            stderr=self.log(),
            exit_code=self._exit_code,
        )

    def _stop_after_failure(self) -> None:
        try:
            self.stop()
        except DeviceError:
            # The caller has to know the first failure.
            return

    def is_running(self) -> bool:
        if self._exit_code is None:
            exit_file = f"{self._folder}/exit"
            # Between the process and the file there is a moment with neither.
            said = self._device.shell(
                f"kill -0 {self.pid} 2>/dev/null && echo running && exit; "
                f"for i in 1 2 3 4 5 6 7 8 9 10; do [ -s {exit_file} ] && break; sleep 0.1; done; "
                f"cat {exit_file}"
            ).stdout.strip()
            if said != "running":
                self._exit_code = int(said) if said.isdigit() else UNKNOWN_EXIT_CODE
        return self._exit_code is None

    def log(self) -> str:
        if self._log is not None:
            return self._log
        return self._device.shell(f"cat {self._folder}/log 2>/dev/null").stdout

    def report(self) -> Mapping[str, Sequence[str]]:
        runner = self._device.put_program(native.RUNNER)
        wire = self._options.wires[0] if self._options.wires else Wire.HIDL
        target = shlex.quote(f"{wire}:{self.instance}")
        said = self._device.shell(f"{runner} --target {target} --report", timeout=20).check()
        values: dict[str, list[str]] = {}
        for line in said.stdout.splitlines():
            name, _, value = line.partition("\t")
            values.setdefault(name, []).append(value)
        return values

    def stop(self) -> int:
        try:
            return self._stop()
        except (KeyboardInterrupt, SystemExit):
            self._clear(self._device, self._folder)
            raise

    def _stop(self) -> int:
        for signal in ("TERM", "KILL"):
            if not self.is_running():
                break
            self._device.shell(f"kill -{signal} {self.pid}")
            end = time.monotonic() + _STOP_TIMEOUT
            while self.is_running() and time.monotonic() < end:
                time.sleep(_POLL)
        if self._exit_code is None:
            raise self._error("the service does not end, not even killed")
        if self._log is None:
            self._log = self.log()
            service_folder.remove(self._device, self._folder)
        return self._exit_code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, DeviceUnreachable):
            self._stop_after_failure()
        else:
            self.stop()
