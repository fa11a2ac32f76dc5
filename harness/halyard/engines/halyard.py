# SPDX-License-Identifier: Apache-2.0
"""Halyard as an engine: on a device, or in a process on this machine that executes when told to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halyard.devices.device import Device
from halyard.engines.device_process import DeviceProcess
from halyard.engines.engine import Engine, EngineRefused, Prepared
from halyard.engines.parts import PartsRun
from halyard.engines.process import EngineProcess
from halyard.engines.workload import Workload
from halyard.model import Array, Tensors
from halyard.model.partitioned import PartitionedModel
from halyard.programs.case_status import failures
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases, serving

TITLE = "Halyard"


@dataclass(frozen=True)
class HalyardDevice(Engine):
    """A service there, or the driver in the runner's own process. `options` say all but how often
    to execute; `driver` is for a driver in the runner's process."""

    device: Device
    target: Target
    options: pb.RunOptions
    driver: DriverOptions = DEFAULT

    @property
    def title(self) -> str:
        return TITLE

    @property
    def asked(self) -> Sequence[str]:
        """The backends that have to have run it; none: any."""
        return self.driver.backends

    def prepare(self, work: Workload) -> DeviceRun | PartsRun:
        if isinstance(work.model, PartitionedModel):
            return PartsRun(work, self._report, self.driver.threads)
        return DeviceRun(self, work)

    def serve(self, work: Workload) -> DeviceProcess:
        """One that executes when it is told to, for as long as it is told."""
        options = pb.RunOptions()
        options.CopyFrom(self.options)
        for name in ("profile", "warmup_s", "min_s", "max_s"):
            options.ClearField(name)
        return DeviceProcess(TITLE, self.device, work, options, self.target, self.driver)

    def report(self, case: pb.TestCase, count: int, warmup: int = 0) -> pb.CaseResult:
        """All that the runner has to say of so many executions of each example, be it a failure.
        DeviceError where it can't run."""
        options = pb.RunOptions()
        options.CopyFrom(self.options)
        options.repeat, options.warmup = count, warmup
        [result] = run_cases(self.device, [case], options, self.target, driver=self.driver)
        return result

    def _report(self, work: Workload, count: int, warmup: int) -> pb.CaseResult:
        return DeviceRun(self, work).report(count, warmup)


class DeviceRun(Prepared):
    """A runner prepares and executes in one go: nothing happens on the device before it is said
    how often to execute."""

    def __init__(self, engine: HalyardDevice, work: Workload) -> None:
        self._engine = engine
        self._work = work
        self._last: pb.CaseResult | None = None

    @property
    def tensors(self) -> Tensors:
        return self._work.tensors

    def report(self, count: int, warmup: int = 0) -> pb.CaseResult:
        """All that the runner has to say of so many executions, be it a failure. DeviceError where
        it can't run."""
        self._last = self._engine.report(self._work.case, count, warmup)
        return self._last

    def run(self) -> list[Array]:
        """Of the executions before, where there are any."""
        return self._work.model.output_arrays(self._good(self._last or self.report(1)))

    def time(self, count: int, warmup: int = 0) -> list[int]:
        """As the client saw it."""
        example = self._good(self.report(count, warmup))
        return [timing.wall_ns for timing in example.timings]

    def _good(self, result: pb.CaseResult) -> pb.ExampleResult:
        if problems := failures(result):
            raise EngineRefused("; ".join(problems))
        return result.examples[0]


@dataclass(frozen=True)
class HalyardProcess(Engine):
    """The driver in a runner's process on this machine. With `priorities`, it has a client of each,
    in processes of their own or all in one."""

    driver: DriverOptions = DEFAULT
    priorities: Sequence[pb.Priority] = ()
    share_process: bool = False
    mode: pb.ExecutionMode = pb.EXECUTION_MODE_SYNC
    program: Path | None = None  # the runner, where it is not this machine's own
    hal: pb.HalVersion = pb.HAL_VERSION_UNSPECIFIED
    target: Target = field(default_factory=Target.in_process)  # or a library

    @property
    def title(self) -> str:
        return TITLE

    def command(self, work: Workload) -> Sequence[str | Path]:
        options = pb.RunOptions(
            mode=self.mode,
            hal_version=self.hal,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
            clients=self.priorities,
            clients_share_process=self.share_process,
        )
        kind = "process" if self.share_process else "processes"
        name = "-".join(["options", kind, *map(str, self.priorities)])
        file = work.file(f"{name}-{self.mode}-{self.hal}", options.SerializeToString)
        return serving(work.bundle(), file, self.target, self.driver, self.program, self.hal)

    def prepare(self, work: Workload) -> EngineProcess:
        return EngineProcess(self.title, self.command(work), work.tensors)
