# SPDX-License-Identifier: Apache-2.0
"""The command run: a model of the zoo, or of a file, on a device."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from halyard import (
    cli_values,
    conditions,
    hal_version,
    machine,
    operations,
    output_file,
    reach,
    records,
)
from halyard.backends import parse as parse_backends
from halyard.bench import baseline as baselines
from halyard.bench import csv_file, sustained, tflite_lines, timed
from halyard.bench.table import print_conditions, print_sustained
from halyard.cli_device import check_lasting, device_option, open_shown
from halyard.cli_group import examples
from halyard.cli_inputs import output_option
from halyard.cli_json import json_option
from halyard.cli_model import ModelChoice, model_options, show_parts
from halyard.cli_results import keep, results_option
from halyard.cli_timing import (
    Timing,
    baseline_options,
    check_baseline,
    cooling_options,
    sustained_option,
    timing_options,
)
from halyard.conditions import Gate
from halyard.devices import Device, Service, ServiceOptions, config_of
from halyard.devices.config import check_instance
from halyard.driver_options import GPU_PROFILING, DriverOptions
from halyard.engines.engine import EngineRefused
from halyard.engines.halyard import HalyardDevice
from halyard.engines.output_files import write_inputs, write_outputs
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, DeviceError
from halyard.machine import Peak
from halyard.measurement import Measurement, measure
from halyard.model.partitioned import PartitionedModel
from halyard.output_file import check_writable
from halyard.proto import halyard_pb2 as pb
from halyard.records.conditions import Conditions
from halyard.records.run import Run
from halyard.report import print_measurement, print_operations
from halyard.runner import EXECUTION_MODES, Target
from halyard.shape_runs import measure_shapes
from halyard.subject import DynamicSubject, FileSubject, Subject, shapes_of
from halyard.terminal import Terminal

# What the runner is to drive for a version.
Targets = Callable[[pb.HalVersion], Target]

# Lines of the service's log that are shown when something failed.
_LOG_LINES = 12


@dataclass(frozen=True)
class HalChoice:
    """What --hal names. `required`: every one of its versions has to carry the model."""

    chosen: hal_version.Choice
    required: bool

    def check(self, subject: Subject | FileSubject | DynamicSubject) -> None:
        """ConfigError for what can be told before a large model is built: the version that a model
        of the zoo needs is that of a small one of its kind."""
        if self.chosen.versions and isinstance(subject, Subject):
            small = subject.smallest()
            if small != subject:
                self.carrying(hal_version.lowest_version(small.runnable.model))

    def carrying(self, lowest: int) -> list[pb.HalVersion]:
        """The versions that carry a model that needs `lowest`."""
        versions = self.chosen.versions
        carrying = [version for version in versions if version >= lowest]
        if not versions:
            return [pb.HAL_VERSION_UNSPECIFIED]
        if not carrying or (self.required and len(carrying) != len(versions)):
            raise ConfigError(f"--hal {self.chosen.text}: {hal_version.needed(lowest)}")
        return carrying

    def targets(self, instance: str) -> Targets:
        """What reaches a service in each version."""
        return lambda version: Target.service(
            instance,
            self.chosen.newest_of
            if version == pb.HAL_VERSION_UNSPECIFIED
            else hal_version.wire_of(version),
        )


def parse_hal(text: str | None) -> HalChoice:
    """ConfigError for what names no version."""
    chosen = hal_version.choose(text)
    return HalChoice(chosen, required=".." not in chosen.text and chosen.text != "all")


@click.command(
    epilog=examples(
        "halyard run --model mobilenet_v2 --type quant8",
        "halyard run --device vm --hal 1.0..1.3 --json result.json",
        "halyard run model.tflite --device SERIAL --placement",
    )
)
@model_options
@click.option(
    "--dynamic",
    is_flag=True,
    help="Prepare a file once for all shapes that --shape, --dim or --input give, with the same "
    "name several times, and execute it in each.",
)
@device_option
@click.option(
    "--hal",
    metavar=hal_version.METAVAR,
    help="HAL version, a range of them, or all of HIDL's that can carry the model. "
    f"{hal_version.NEWEST}",
)
@click.option(
    "-c",
    "--backends",
    metavar="NAMES",
    shell_complete=cli_values.backend_list,
    help="In order of preference, with commas between. A run on any other is a failure.",
)
@click.option("--threads", type=click.IntRange(0, 64), default=0, help="0: one per core.")
@click.option(
    "-a",
    "--enable-fast-math",
    "fast_math",
    is_flag=True,
    help="Take rougher results that are faster.",
)
@click.option(
    "--mode",
    default="async",
    show_default=True,
    type=click.Choice(list(EXECUTION_MODES)),
    help="How it is executed: burst from HAL 1.2 on, reusable from aidl4 on.",
)
@timing_options("--repeat", "--num-runs", runs=10, most_s=0.0)
@sustained_option
@cooling_options
@click.option(
    "--instance",
    metavar="NAME",
    help="Use the service that is registered under this name, and start none.",
)
@click.option(
    "-n", "--service-name", metavar="NAME", help="Start the service under this instance name."
)
@click.option(
    "-u",
    "--unsupported-operations",
    "unsupported",
    metavar="LIST",
    help="Operations that the service shall not support, by name or code, with commas between.",
)
@click.option(
    "-d",
    "--request-inputs-and-outputs-dump-dir",
    "dump_folder",
    metavar="DIR",
    help="Folder on the device where the service writes every request's inputs and outputs.",
)
@click.option(
    "--cache-dir",
    "cache_folder",
    metavar="DIR",
    help="Folder on the device in which the driver keeps prepared models, and finds them again.",
)
@click.option("--placement", is_flag=True, help="Tell where each operation ran.")
@click.option(
    "--profile",
    is_flag=True,
    help="Tell what each node takes, in as many executions again. On the host device only.",
)
@output_option
@json_option
@baseline_options
@click.option(
    "--csv",
    "csv_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A row for each HAL version.",
)
@results_option
def run(
    *,
    model: ModelChoice,
    dynamic: bool,
    name: str,
    hal: str | None,
    backends: str | None,
    threads: int,
    fast_math: bool,
    mode: str,
    timing: Timing,
    sustained: float,
    gate: Gate,
    cool_down: float,
    instance: str | None,
    service_name: str | None,
    unsupported: str | None,
    dump_folder: str | None,
    cache_folder: str | None,
    placement: bool,
    profile: bool,
    output_folder: Path | None,
    baseline: Path | None,
    fail_above: float | None,
    json_path: Path | None,
    csv_path: Path | None,
    results_path: Path | None,
) -> None:
    """Runs a model on a device and compares it with LiteRT."""
    check_baseline(baseline, fail_above)
    earlier = timed.read(baseline) if baseline is not None else None
    choice = parse_hal(hal)
    config = config_of(name)
    # A phone may have a service of its own, and that knows what it has.
    asked = parse_backends(backends, known=config.kind != "adb")
    subject = model.dynamic() if dynamic else model.subject()
    choice.check(subject)
    if dynamic:
        alone: dict[str, str | int | None] = {
            "--profile": profile or None,
            "--sustained": int(sustained) or None,
        }
        _refuse(alone, "is for one shape, not with --dynamic")
    for option, instance_name in (("--instance", instance), ("--service-name", service_name)):
        if instance_name is not None:
            check_instance(instance_name, option)
    turned_off = _operations(unsupported)
    service_options = {
        "--service-name": service_name,
        "--unsupported-operations": unsupported,
        "--request-inputs-and-outputs-dump-dir": dump_folder,
    }
    if instance is not None:
        refused = {
            **service_options,
            "--threads": threads or None,
            "--enable-fast-math": fast_math or None,
        }
        _refuse(refused, "is for a service that is started here, not with --instance")
    if config.kind == "host":
        _refuse({**service_options, "--instance": instance}, "needs a service, and so a device")
    elif profile:
        raise ConfigError(
            "--profile needs the driver in the runner's process: --device host; halyard profile "
            "times nodes on any device"
        )
    if dump_folder is not None:
        check_lasting(config)
    if cache_folder is not None and config.kind != "host":
        check_lasting(config)
    for path in (json_path, csv_path):
        if path is not None:
            check_writable(path)
    options = pb.RunOptions(
        mode=EXECUTION_MODES[mode],
        measure_timing=True,
        preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
        priority=pb.PRIORITY_MEDIUM,
        profile=timing.runs if profile else 0,
        warmup_s=timing.warmup_s,
        min_s=timing.least_s,
        max_s=timing.most_s,
        cache_folder=cache_folder or "",
    )
    terminal = Terminal()
    measurements: list[Measurement] = []
    # A device that is not there is told before a model is built, which takes longer.
    with _kept(results_path, measurements, name), open_shown(terminal, name, config) as device:
        with terminal.step(f"Building {subject}") as step:
            required = hal_version.lowest_version(subject.runnable.model)
            step.outcome = f"needs HAL {hal_version.format(required)}"
        if not isinstance(subject, DynamicSubject):
            show_parts(terminal, subject)
        _check_seconds(subject, timing, sustained)
        versions = choice.carrying(required)
        chosen = reach.reached(choice.chosen, device, subject.runnable, instance or "")
        choice = replace(choice, chosen=chosen)
        peak = None
        if profile:
            with terminal.step("Measuring the machine's peak"):
                peak = machine.measure_peak(threads or os.cpu_count() or 1)
        more = (GPU_PROFILING,) if profile else ()
        driver = DriverOptions(asked, threads, fast_math, more=more)
        series = _Series(
            terminal,
            device,
            subject,
            options,
            driver,
            timing,
            measurements,
            peak,
            placement,
            gate,
            cool_down,
            sustained,
        )
        if instance is not None:
            series.run(choice.targets(instance), versions)
        elif not device.has_binder:
            series.run(lambda _: Target.in_process(), versions)
        else:
            arguments = []
            if dump_folder is not None:
                device.shell(f"mkdir -p {shlex.quote(dump_folder)}").check()
                arguments = ["-d", dump_folder]
            with device.start_service(
                ServiceOptions(
                    program=config.service.program,
                    instance=service_name or config.service.instance,
                    wires=choice.chosen.wires,
                    backends=asked,
                    threads=threads or None,
                    fast_math=fast_math,
                    unsupported=turned_off,
                    arguments=arguments,
                )
            ) as service:
                series.run_with(service, choice.targets(service.instance), versions)
    if output_folder is not None:
        _write_arrays(output_folder, subject, measurements)
    documents = [measurement.record() for measurement in measurements]
    if json_path is not None:
        _write_json(json_path, documents)
    if csv_path is not None:
        output_file.write(csv_path, csv_file.text(documents).encode())
    slower = False
    if earlier is not None:
        terminal.heading("Beside the baseline")
        slower = baselines.judge(terminal, earlier, documents, fail_above)
    if slower or not all(measurement.ok for measurement in measurements):
        sys.exit(1)


def _operations(text: str | None) -> list[str]:
    """What -u names: operations, or their codes, with commas between."""
    names = [item.strip() for item in text.split(",")] if text is not None else []
    for name in names:
        if not (name.isascii() and name.isdigit()):
            operations.check_name(name, "--unsupported-operations")
    return [name.upper() for name in names]


def _refuse(options: dict[str, str | int | None], reason: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{option} {reason}")


@contextmanager
def _kept(path: Path | None, measurements: Sequence[Measurement], name: str) -> Iterator[None]:
    """What was measured by then stays, where it can't be printed, or what comes after it fails."""
    try:
        yield
    finally:
        keep(path, [each.record() for each in measurements], name)


@dataclass(frozen=True)
class _Series:
    """The same subject through several HAL versions; `measurements` grows with each."""

    terminal: Terminal
    device: Device
    subject: Subject | FileSubject | DynamicSubject
    options: pb.RunOptions
    driver: DriverOptions
    timing: Timing
    measurements: list[Measurement]
    peak: Peak | None = None
    placement: bool = False
    gate: Gate = field(default_factory=Gate)
    cool_down: float = 0.0
    sustained_s: float = 0.0

    def run(self, targets: Targets, versions: Sequence[pb.HalVersion]) -> None:
        properties = self.device.properties()
        for version in versions:
            if self.cool_down and self.measurements:
                with self.terminal.step(f"Cooling down for {self.cool_down:g} s"):
                    time.sleep(self.cool_down)
            waited = conditions.cool(self.terminal, self.device, self.gate)
            now = conditions.read(self.device)
            options = pb.RunOptions()
            options.CopyFrom(self.options)
            options.hal_version = version
            target = targets(version)
            with self.terminal.step(
                f"Running on {self.device.serial}, {target.name}, HAL {hal_version.format(version)}"
            ) as step:
                engine = HalyardDevice(self.device, target, options, self.driver)
                is_first = not self.measurements
                found = [
                    replace(each, waited=waited) for each in self._measure(engine, properties, now)
                ]
                # Before anything is printed that may fail.
                self.measurements.extend(found)
                step.failed = not all(each.ok for each in found)
            if self.sustained_s and found[0].ok:
                found = [self._under_load(engine, found[0])]
                self.measurements[-1] = found[0]
            if is_first:
                print_conditions(self.terminal, self.device, now)
            for each in found:
                self._print(each)

    def _measure(
        self, engine: HalyardDevice, properties: Mapping[str, str], now: Conditions
    ) -> list[Measurement]:
        """One, or one of each shape."""
        count, warmup = self.timing.runs, self.timing.warmup
        if isinstance(self.subject, DynamicSubject):
            return measure_shapes(
                engine,
                self.subject,
                count=count,
                warmup=warmup,
                properties=properties,
                conditions=now,
            )
        return [
            measure(
                engine,
                self.subject,
                count=count,
                warmup=warmup,
                properties=properties,
                peak=self.peak,
                conditions=now,
            )
        ]

    def _print(self, measurement: Measurement) -> None:
        subject = measurement.subject
        if isinstance(subject, FileSubject) and subject.dynamic:
            self.terminal.heading(shapes_of(subject))
        print_measurement(self.terminal, measurement)
        print_sustained(self.terminal, measurement.sustained)
        _print_tflite_lines(self.terminal, measurement)
        if self.placement:
            self.terminal.line()
            print_operations(self.terminal, measurement.result)

    def _under_load(self, engine: HalyardDevice, measurement: Measurement) -> Measurement:
        """The same with what becomes of its pace."""
        device = self.device
        with (
            self.terminal.step(f"Under load for {self.sustained_s:g} s") as step,
            Workload.of_subject(measurement.subject) as work,
        ):
            try:
                with engine.serve(work) as process:
                    process.run()
                    load = sustained.load(
                        process, self.sustained_s, lambda: conditions.read(device), step.now
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


def _check_seconds(
    subject: Subject | FileSubject | DynamicSubject, timing: Timing, sustained: float = 0
) -> None:
    """Parts that run apart have to run as often as each other."""
    by_time = timing.warmup_s or timing.least_s or timing.most_s or sustained
    if by_time and isinstance(subject.runnable, PartitionedModel):
        raise ConfigError(
            f"{subject} runs in parts, some of them on the host: these are executed by number "
            "(--repeat, --warmup), and not for --warmup-secs, --min-secs, --max-secs or --sustained"
        )


def _print_tflite_lines(terminal: Terminal, measurement: Measurement) -> None:
    """The first execution is one of the warm-up, unless there is none."""
    if measurement.wall is None:
        return
    before = measurement.warmup.values if measurement.warmup else measurement.wall.values[:1]
    for line in tflite_lines.lines(
        measurement.result.prepare_ns / 1e6, before[0], before[1:], measurement.wall.values
    ):
        terminal.line(line)


def _write_arrays(
    folder: Path,
    subject: Subject | FileSubject | DynamicSubject,
    measurements: Sequence[Measurement],
) -> None:
    """A file for each shape and each HAL version, where there are several."""
    shapes = subject.subjects if isinstance(subject, DynamicSubject) else (subject,)
    versions = {each.hal for each in measurements}
    for number, each in enumerate(shapes):
        shape = f"-{number + 1}" if len(shapes) > 1 else ""
        write_inputs(folder / f"inputs{shape}.npz", each, each.input_arrays())
        for measurement in measurements:
            if measurement.subject == each and measurement.outputs is not None:
                version = f"-{measurement.hal}" if len(versions) > 1 else ""
                path = folder / f"outputs{version}{shape}.npz"
                write_outputs(path, each, measurement.outputs)


def _write_json(path: Path, documents: Sequence[Run]) -> None:
    """An object; a list of them if several HAL versions were run."""
    content = documents[0] if len(documents) == 1 else documents
    output_file.write(path, records.encode(content))
