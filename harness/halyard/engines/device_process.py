# SPDX-License-Identifier: Apache-2.0
"""Our runner on a device, which prepares a model once and executes it when told to."""

from __future__ import annotations

import contextlib
import time

from halyard.devices.device import Device
from halyard.engines.served import EngineDied, ServedByLines
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError
from halyard.programs import native, protobuf_stream
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Background, Target, pushed

# Seconds of one wait on the device: between two of them the harness can be interrupted.
_WAIT = 2.0


class DeviceProcess(ServedByLines):
    """It goes on when the connection breaks, and is ended when this is closed."""

    def __init__(
        self,
        name: str,
        device: Device,
        work: Workload,
        options: pb.RunOptions,
        target: Target,
        driver: DriverOptions,
        *,
        timeout: float = 300.0,
        until: contextlib.ExitStack | None = None,
    ) -> None:
        """`timeout`: seconds for each answer, beyond what the caller adds. `until` is closed after
        it: the service that it asks, for instance."""
        super().__init__(name, work.tensors)
        self._timeout = timeout
        self._stream = protobuf_stream.Stream(pb.CaseResult)
        with contextlib.ExitStack() as stack:
            if until is not None:
                stack.push(until)
            run = stack.enter_context(pushed(device, [work.case], options))
            command = run.command(target, driver, ["--serve"])
            self._runner = stack.enter_context(Background(device, run.path, command, commands=True))
            self._held = stack.pop_all()

    def _send(self, line: str) -> None:
        self._runner.tell(line)

    def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
        time.sleep(quiet_s)
        deadline = time.monotonic() + self._timeout + expected_s
        while True:
            self._runner.wait(_WAIT)
            try:
                for result in self._stream.feed(self._runner.look()):
                    return result
            except DeviceError:
                raise
            except HalyardError as error:
                raise self._died(str(error)) from error
            if not self._runner.is_running:
                raise self._died("")
            if time.monotonic() > deadline:
                raise self._died(f"no answer for {self._timeout + expected_s:g} s")

    def _died(self, message: str) -> EngineDied:
        words = [self._name, *([message] if message else [])]
        if not self._runner.is_running:
            ended = self._runner.ended()
            words.append(f"ended with exit code {ended.exit_code}")
            lines = [line for line in ended.stderr.splitlines() if line.strip()]
            # The runner prints its usage after what is wrong.
            ours = [line for line in lines if line.startswith(f"{native.RUNNER}: ")]
            words += [line.strip() for line in (ours or lines)[-1:]]
        return EngineDied(": ".join(words))

    def close(self) -> None:
        self._held.close()
