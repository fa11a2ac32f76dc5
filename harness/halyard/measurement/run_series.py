# SPDX-License-Identifier: Apache-2.0
"""The executions of halyard run once a device is there: a model through HAL versions, and in
shapes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from halyard.benchmark_model import BenchmarkModel, DynamicModel, FileModel, shapes_of
from halyard.devices import Device, LiteRtDevice, Service, conditions
from halyard.engines.engine import EngineRefused
from halyard.engines.halyard import HalyardDevice
from halyard.engines.litert_runs import LiteRtRuns
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.errors import DeviceError
from halyard.measurement import sustained, tflite_lines
from halyard.measurement.measurement import DeviceEngine, Measurement, measure
from halyard.measurement.measurement_text import (
    print_conditions,
    print_measurement,
    print_operations,
    print_sustained,
)
from halyard.measurement.shape_runs import measure_shapes
from halyard.measurement.timing_options import TimingOptions
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records.conditions import Conditions
from halyard.runner.execution import Target
from halyard.terminal.console import Terminal
from halyard.timing.machine import Peak
from halyard.transport import hal_version

# The target that the runner is to drive for a version.
Targets = Callable[[pb.HalVersion], Target]

# Lines of the service's log that are shown when something failed.
_LOG_LINES = 12


@dataclass(frozen=True)
class Series:
    """The same model through several HAL versions; `measurements` grows with each."""

    terminal: Terminal
    device: Device
    benchmark_model: BenchmarkModel | FileModel | DynamicModel
    options: pb.RunOptions
    driver: DriverOptions
    timing: TimingOptions
    measurements: list[Measurement]
    peak: Peak | None = None
    placement: bool = False

    def run(self, targets: Targets, versions: Sequence[pb.HalVersion]) -> None:
        properties = self.device.properties()
        for version in versions:
            if self.timing.cool_down and self.measurements:
                with self.terminal.step(f"Cooling down for {self.timing.cool_down:g} s"):
                    time.sleep(self.timing.cool_down)
            waited = conditions.cool(self.terminal, self.device, self.timing.gate)
            now = conditions.read(self.device)
            options = pb.RunOptions()
            options.CopyFrom(self.options)
            options.hal_version = version
            target = targets(version)
            engine: DeviceEngine
            if isinstance(self.device, LiteRtDevice):
                engine = LiteRtRuns(self.device, options, self.driver)
                words = f"Running in LiteRT, {self.device.serial}"
            else:
                engine = HalyardDevice(self.device, target, options, self.driver)
                version_name = hal_version.format(version)
                words = f"Running on {self.device.serial}, {target.name}, HAL {version_name}"
            with self.terminal.step(words) as step:
                is_first = not self.measurements
                found = [
                    replace(each, waited=waited) for each in self._measure(engine, properties, now)
                ]
                # Before anything is printed that may fail.
                self.measurements.extend(found)
                step.failed = not all(each.ok for each in found)
                step.unsure = any(each.not_compared for each in found)
                step.outcome = "not compared" if step.unsure and not step.failed else ""
            if self.timing.sustained_s and found[0].ok:
                found = [self._under_load(engine, found[0])]
                self.measurements[-1] = found[0]
            if is_first:
                print_conditions(self.terminal, self.device, now)
            for each in found:
                self._print(each)

    def _measure(
        self, engine: DeviceEngine, properties: Mapping[str, str], now: Conditions
    ) -> list[Measurement]:
        """One, or one of each shape."""
        count, warmup = self.timing.runs, self.timing.warmup
        if isinstance(self.benchmark_model, DynamicModel):
            assert isinstance(engine, HalyardDevice), "the command refuses several shapes there"
            return measure_shapes(
                engine,
                self.benchmark_model,
                count=count,
                warmup=warmup,
                properties=properties,
                conditions=now,
            )
        return [
            measure(
                engine,
                self.benchmark_model,
                count=count,
                warmup=warmup,
                properties=properties,
                peak=self.peak,
                conditions=now,
            )
        ]

    def _print(self, measurement: Measurement) -> None:
        benchmark_model = measurement.benchmark_model
        if isinstance(benchmark_model, FileModel) and benchmark_model.dynamic:
            self.terminal.heading(shapes_of(benchmark_model))
        print_measurement(self.terminal, measurement)
        print_sustained(self.terminal, measurement.sustained)
        _print_tflite_lines(self.terminal, measurement)
        if self.placement:
            self.terminal.line()
            print_operations(self.terminal, measurement.result)

    def _under_load(self, engine: DeviceEngine, measurement: Measurement) -> Measurement:
        """The same with what becomes of its pace."""
        device = self.device
        with (
            self.terminal.step(f"Under load for {self.timing.sustained_s:g} s") as step,
            Workload.of_model(measurement.benchmark_model) as work,
        ):
            try:
                with engine.serve(work) as process:
                    process.run()
                    load = sustained.load(
                        process, self.timing.sustained_s, lambda: conditions.read(device), step.now
                    ).record()
            except (EngineDied, EngineRefused) as error:
                step.failed = True
                return replace(measurement, problems=[*measurement.problems, str(error)])
            step.outcome = f"slowdown {load.slowdown:.2f}"
        return replace(measurement, sustained=load)

    def run_with(
        self, service: Service, targets: Targets, versions: Sequence[pb.HalVersion]
    ) -> None:
        """On a service whose log is shown when something fails: the reason stands there."""
        try:
            self.run(targets, versions)
        except DeviceError:
            self._show_log(service)
            raise
        if all(measurement.ok for measurement in self.measurements):
            return
        log = "\n".join(self._show_log(service))
        self.measurements[:] = [
            each if each.ok else replace(each, log=log) for each in self.measurements
        ]

    def _show_log(self, service: Service) -> list[str]:
        """And gives its end."""
        try:
            lines = service.log().splitlines()
        except DeviceError:
            # The device is what failed, and that is told already.
            return []
        self.terminal.detail(f"the end of the service's log ({len(lines)} lines in all):")
        shown = lines[-_LOG_LINES:]
        for line in shown:
            self.terminal.detail(f"  {line}")
        return shown


def _print_tflite_lines(terminal: Terminal, measurement: Measurement) -> None:
    """The first execution is one of the warm-up, unless there is none."""
    if measurement.wall is None:
        return
    before = measurement.warmup.values if measurement.warmup else measurement.wall.values[:1]
    for line in tflite_lines.lines(
        measurement.result.prepare_ns / 1e6, before[0], before[1:], measurement.wall.values
    ):
        terminal.line(line)
