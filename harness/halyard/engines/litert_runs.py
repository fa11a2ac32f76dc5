# SPDX-License-Identifier: Apache-2.0
"""Halyard in LiteRT as a device's engine: so many executions, and all that there is to say of
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halyard.devices import LiteRtDevice
from halyard.engines.engine import Engine, EngineRefused, Prepared
from halyard.engines.in_litert import InLiteRt, LiteRtProcess
from halyard.engines.served import Executions
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Tensors
from halyard.programs.case_status import failures
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class LiteRtRuns(Engine):
    """`options`: how long to execute, and the folder of what is compiled."""

    device: LiteRtDevice
    options: pb.RunOptions
    driver: DriverOptions

    @property
    def title(self) -> str:
        return self._library.title

    @property
    def asked(self) -> Sequence[str]:
        """Nothing: Halyard takes what the backends run that it is asked for, and no more."""
        return ()

    @property
    def _library(self) -> InLiteRt:
        return InLiteRt(self.device.door, self.driver, self.options.cache_folder)

    def prepare(self, work: Workload) -> LiteRtRun:
        return LiteRtRun(self.serve(work), self.options)

    def serve(self, work: Workload) -> LiteRtProcess:
        return self._library.prepare(work)


class LiteRtRun(Prepared):
    def __init__(self, process: LiteRtProcess, options: pb.RunOptions) -> None:
        self.process = process
        self._options = options

    @property
    def tensors(self) -> Tensors:
        return self.process.tensors

    def report(self, count: int, warmup: int = 0) -> pb.CaseResult:
        """A failure is a result, and so is a process that dies."""
        stage, options = pb.STAGE_PREPARE, self._options
        result = pb.CaseResult()
        try:
            result.CopyFrom(self.process.prepared())
            if failures(result):
                return result
            stage = pb.STAGE_EXECUTE
            [example] = result.examples
            if warmup or options.warmup_s:
                more = self.process.series(Executions(max(warmup, 1), options.warmup_s))
                example.warmup_timings.extend(more)
            counted = Executions(count, options.min_s, options.max_s)
            timings = list(self.process.series(counted))
            del example.timings[:]
            example.timings.extend(timings)
        except HalyardError as error:
            del result.examples[:]
            result.failed_stage, result.message = stage, str(error)
        return result

    def run(self) -> list[Array]:
        return self.process.run()

    def time(self, count: int, warmup: int = 0) -> list[int]:
        if problems := failures(self.process.prepared()):
            raise EngineRefused("; ".join(problems))
        return self.process.time(count, warmup)

    def close(self) -> None:
        self.process.close()
