# SPDX-License-Identifier: Apache-2.0
"""Two sides prepared, checked, and timed in turns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from halyard.bench.bench_report import Report
from halyard.bench.benchmark_models import models_of
from halyard.bench.pair import Pair, Side, Spec, Turns
from halyard.bench.site import Site
from halyard.bench.table import print_pair
from halyard.bench.verification import judge_placement, take_prepared, tell_left
from halyard.comparison.reference import Repetitions, reference
from halyard.devices import Device, Wire, conditions, open_config, place_of
from halyard.devices.conditions import Gate
from halyard.engines.engine import EngineRefused
from halyard.engines.served import EngineDied, Executions, Served
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, HalyardError
from halyard.model import RunnableModel
from halyard.model.input_files import SEEDED, InputFiles
from halyard.model.read_options import USUAL, ReadOptions
from halyard.runner.execution import EXECUTION_MODES
from halyard.terminal.console import Terminal
from halyard.timing.turns import Amount


@dataclass
class Devices:
    """By the names that sides give them; and which of them serve one over AIDL."""

    opened: dict[str, Device]
    with_aidl: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class PairRun:
    """`site`: where a side runs that names no other device than `device_name`."""

    terminal: Terminal
    site: Site
    device_name: str
    warmup: Executions = field(default_factory=Executions)
    amount: Amount = field(default_factory=Amount)
    gate: Gate = field(default_factory=Gate)
    options: ReadOptions = USUAL
    given: InputFiles = SEEDED

    def measure(
        self, specs: Sequence[Spec], size: int | None, width: float, report: Report
    ) -> None:
        """The pair is in the report as soon as there are times."""
        with ExitStack() as stack:
            devices = Devices({self.device_name: self.site.device})
            sides, processes = [], []
            for name, spec in zip("AB", specs, strict=True):
                side, process = self._prepare(stack, name, spec, size, width, devices)
                sides.append(side)
                processes.append(process)
            pair = Pair(sides[0], sides[1])
            report.pairs.append(pair)
            if processes[0] is not None and processes[1] is not None:
                used = [devices.opened[spec.device] for spec in specs]
                self._time(pair, processes[0], processes[1], used)
        print_pair(self.terminal, pair)

    def _prepare(
        self,
        stack: ExitStack,
        name: str,
        spec: Spec,
        size: int | None,
        width: float,
        devices: Devices,
    ) -> tuple[Side, Served | None]:
        """No process where it does not do what it is asked for."""
        [benchmark_model] = models_of(
            [spec.model],
            [spec.data_type],
            size,
            width,
            option=f"--{name.lower()}",
            options=self.options,
            given=self.given,
        )
        side = Side.of(name, spec, benchmark_model)
        with self.terminal.step(f"{side.engine.title}: preparing and checking") as step:
            site = self._site_of(stack, name, spec, benchmark_model.runnable, devices)
            side.result.target = site.target.name
            work = stack.enter_context(Workload.of_model(benchmark_model))
            word = reference(benchmark_model, Repetitions(threads=spec.threads))
            try:
                process = stack.enter_context(site.engine(spec.driver).prepare(work))
                take_prepared(side.engine, process, work, word)
                if site.is_in_litert:
                    tell_left(side.engine, process.prepared())
                    side.result.take_parts(process.prepared())
                else:
                    judge_placement(side.engine, process.prepared(), spec.backends)
            except (EngineRefused, EngineDied) as error:
                side.engine.fail(str(error))
            step.failed = bool(side.engine.reason)
        return side, None if side.engine.reason else process

    def _site_of(
        self, stack: ExitStack, name: str, spec: Spec, model: RunnableModel, devices: Devices
    ) -> Site:
        """Each side has a service of its own, unless it names one. Over AIDL a device's manifest
        has a name for one alone."""
        opened = devices.opened
        if spec.device not in opened:
            opened[spec.device] = stack.enter_context(open_config(place_of(spec.device)))
        service = self.site.service
        site = Site(
            opened[spec.device], EXECUTION_MODES[spec.mode], spec.hal, spec.instance, service
        ).reaching(model, "hal=")
        if spec.instance is not None or not site.device.has_binder:
            return site
        if site.wire is Wire.AIDL:
            if spec.device in devices.with_aidl:
                raise ConfigError(
                    f"--{name.lower()}: a second service over AIDL has no name in the device's "
                    "manifest; give one of the sides a version of HIDL (hal=1.3) or a service "
                    "that is there (instance=NAME)"
                )
            devices.with_aidl.add(spec.device)
            return site
        return replace(
            site, service=replace(service, instance=f"{service.instance}-{name.lower()}")
        )

    def _time(self, pair: Pair, a: Served, b: Served, devices: Sequence[Device]) -> None:
        for side, device in zip((pair.a, pair.b), devices, strict=True):
            side.result.waited = conditions.cool(self.terminal, device, self.gate)
        for side, device in zip((pair.a, pair.b), devices, strict=True):
            side.result.conditions = conditions.read(device)
        with self.terminal.step("A and B: timing in turns") as step:
            try:
                Turns(self.warmup, self.amount).take(pair, a, b)
            except EngineDied:
                step.failed = True
            except HalyardError:
                pair.conclude()
                raise
