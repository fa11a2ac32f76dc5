# SPDX-License-Identifier: Apache-2.0
"""The service on a device behind a shell: started in the background, watched through its files."""

import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from halyard import native
from halyard.devices.device import WORK_FOLDER, Device, ServiceOptions
from halyard.errors import DeviceError, DeviceUnreachable, ServiceError

_POLL = 0.05
# Seconds for the last executions of a service that was asked to end, and for the kernel to tell
# the service manager of a death.
_STOP_TIMEOUT = 10.0
_UNREGISTER_TIMEOUT = 2.0


def list_services(device: Device) -> list[str]:
    """Everything registered with hwservicemanager, as "interface/name"."""
    runner = device.put_program(native.RUNNER)
    return device.shell(f"{runner} --list-services", timeout=20).check().stdout.split()


def registered(services: Sequence[str], instance: str) -> list[str]:
    """The NNAPI interfaces under that name, oldest version first."""
    return sorted(
        name
        for name in services
        if name.startswith("android.hardware.neuralnetworks@")
        and name.endswith(f"::IDevice/{instance}")
    )


class AdbService:
    """`start` makes one. Its folder on the device holds its log, its pid and its exit code."""

    def __init__(self, device: Device, options: ServiceOptions, folder: str, pid: int) -> None:
        self.instance = options.instance
        self.pid = pid
        self.interfaces: Sequence[str] = ()
        self._device = device
        self._options = options
        self._folder = folder
        self._exit_code: int | None = None

    @classmethod
    def start(cls, device: Device, options: ServiceOptions) -> Self:
        there = device.shell(f"[ -x {shlex.quote(options.program)} ]").exit_code == 0
        if not there:
            options = replace(options, program=device.put_program(native.SERVICE))
        cls._wait_for_name(device, options)
        folder = f"{WORK_FOLDER}/service-{secrets.token_hex(4)}"
        command = shlex.join(options.command_line())
        # The inner shell outlives the adb connection and keeps the exit code.
        inner = (
            f"{command} >{folder}/log 2>&1 </dev/null & "
            f"echo $! >{folder}/pid.new; mv {folder}/pid.new {folder}/pid; "
            f"wait $!; echo $? >{folder}/exit"
        )
        device.shell(
            f"mkdir -p {folder} && "
            f"(setsid sh -c {shlex.quote(inner)} >/dev/null 2>&1 </dev/null &) && "
            f"for i in 1 2 3 4 5 6 7 8 9 10; do [ -f {folder}/pid ] && break; sleep 0.1; done"
        ).check()
        pid = device.shell(f"cat {folder}/pid").check().stdout
        service = cls(device, options, folder, int(pid))
        try:
            service._wait_until_registered()
        except BaseException:
            service._stop_after_failure()
            raise
        return service

    @staticmethod
    def _wait_for_name(device: Device, options: ServiceOptions) -> None:
        """The name must be free. A service that has just ended may still hold it for a moment."""
        end = time.monotonic() + _UNREGISTER_TIMEOUT
        while taken := registered(list_services(device), options.instance):
            if time.monotonic() > end:
                raise ServiceError(
                    f"{taken[-1]} is registered already, by a service that was not started here; "
                    "choose another instance name or use that service",
                    serial=device.serial,
                )
            time.sleep(_POLL)

    def _wait_until_registered(self) -> None:
        end = time.monotonic() + self._options.timeout
        while True:
            found = registered(list_services(self._device), self.instance)
            # A service registers all its versions in one call.
            if found:
                self.interfaces = found
                return
            if not self.is_running():
                raise self._error("the service ended before it was registered")
            if time.monotonic() > end:
                raise self._error(f"the service is not registered {self._options.timeout:g} s on")
            time.sleep(_POLL)

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
            # What failed first is what the caller has to know.
            return

    def is_running(self) -> bool:
        if self._exit_code is None:
            text = self._device.shell(f"cat {self._folder}/exit 2>/dev/null").stdout.strip()
            self._exit_code = int(text) if text else None
        return self._exit_code is None

    def log(self) -> str:
        return self._device.shell(f"cat {self._folder}/log 2>/dev/null").stdout

    def report(self) -> Mapping[str, Sequence[str]]:
        runner = self._device.put_program(native.RUNNER)
        target = shlex.quote(f"hidl:{self.instance}")
        said = self._device.shell(f"{runner} --target {target} --report", timeout=20).check()
        values: dict[str, list[str]] = {}
        for line in said.stdout.splitlines():
            name, _, value = line.partition("\t")
            values.setdefault(name, []).append(value)
        return values

    def stop(self) -> int:
        for signal in ("TERM", "KILL"):
            if not self.is_running():
                break
            self._device.shell(f"kill -{signal} {self.pid}")
            end = time.monotonic() + _STOP_TIMEOUT
            while self.is_running() and time.monotonic() < end:
                time.sleep(_POLL)
        if self._exit_code is None:
            raise self._error("the service does not end, not even killed")
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
