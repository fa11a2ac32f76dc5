# SPDX-License-Identifier: Apache-2.0
"""The command run: a model of the zoo, or of a file, on a device."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from halyard import output_file, records
from halyard.bench import csv_file
from halyard.benchmark_model import BenchmarkModel, DynamicModel, FileModel
from halyard.cli.group import examples
from halyard.cli.options.device import check_lasting, open_shown, runtime_device_option
from halyard.cli.options.driver import (
    DriverChoice,
    backends_option,
    driver_options,
    fast_math_option,
    hal_option,
    instance_option,
    mode_option,
    threads_option,
)
from halyard.cli.options.filled import filled
from halyard.cli.options.inputs import output_option
from halyard.cli.options.litert import NO_PROFILE, check_in_litert
from halyard.cli.options.model import ModelChoice, model_options
from halyard.cli.options.reference import print_not_compared, reference_option
from halyard.cli.options.timing import Baseline, baseline_options, timing_options
from halyard.cli.options.written import WrittenFiles, csv_option, written_options
from halyard.devices import Device, ServiceOptions, place_of
from halyard.devices.config import DeviceConfig, check_instance
from halyard.devices.inside_litert import LACKING, Door
from halyard.engines.output_files import write_inputs, write_outputs
from halyard.errors import ConfigError
from halyard.measurement.measurement import Measurement
from halyard.measurement.measurement_text import show_parts
from halyard.measurement.run_series import Series, Targets
from halyard.measurement.timing_options import TimingOptions
from halyard.model.partitioned import PartitionedModel
from halyard.programs import operations
from halyard.programs.driver_options import GPU_PROFILING, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Run
from halyard.runner.execution import EXECUTION_MODES, Target
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak
from halyard.transport import hal_version, resolve_transport

RunModel = BenchmarkModel | FileModel | DynamicModel


@dataclass(frozen=True)
class HalChoice:
    """The versions that --hal names. `required`: every one of its versions has to carry the
    model."""

    chosen: hal_version.Choice
    required: bool

    def check(self, benchmark_model: RunModel) -> None:
        """ConfigError for what can be told before a large model is built: the version that a model
        of the zoo needs is that of a small one of its kind."""
        if self.chosen.versions and isinstance(benchmark_model, BenchmarkModel):
            small = benchmark_model.smallest()
            if small != benchmark_model:
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
        """The target that reaches a service in each version."""
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


@dataclass(frozen=True)
class ServiceChoice:
    """A service's arguments; the defaults set none. ConfigError for contradictory options."""

    service_name: str | None = None
    unsupported: str | None = None
    dump_folder: str | None = None
    cache_folder: str | None = None

    def __post_init__(self) -> None:
        if self.service_name is not None:
            check_instance(self.service_name, "--service-name")
        _ = self.turned_off

    @property
    def turned_off(self) -> list[str]:
        """The operations that the service shall not support."""
        return _operations(self.unsupported)

    def check(self, config: DeviceConfig, driver: DriverChoice) -> None:
        """ConfigError for what the device, or a service that is there, can't take."""
        given = {
            "--service-name": self.service_name,
            "--unsupported-operations": self.unsupported,
            "--request-inputs-and-outputs-dump-dir": self.dump_folder,
        }
        if driver.instance is not None:
            refused = {
                **given,
                "--threads": driver.threads or None,
                "--enable-fast-math": driver.fast_math or None,
            }
            _refuse(refused, "is for a service that is started here, not with --instance")
        if config.kind == "host":
            given["--instance"] = driver.instance
            _refuse(given, "needs a service, and so a device")
        elif self.dump_folder is not None or self.cache_folder is not None:
            check_lasting(config)


_service_options = filled(
    "service",
    ServiceChoice,
    click.option(
        "-n", "--service-name", metavar="NAME", help="Start the service under this instance name."
    ),
    click.option(
        "-u",
        "--unsupported-operations",
        "unsupported",
        metavar="LIST",
        help="Operations that the service shall not support, by name or code, with commas between.",
    ),
    click.option(
        "-d",
        "--request-inputs-and-outputs-dump-dir",
        "dump_folder",
        metavar="DIR",
        help="Folder on the device where the service writes every request's inputs and outputs.",
    ),
    click.option(
        "--cache-dir",
        "cache_folder",
        metavar="DIR",
        help="Folder on the device in which the driver keeps prepared models, and finds them "
        "again.",
    ),
)


@dataclass(frozen=True)
class RunExtras:
    """Actions beside the executions."""

    dynamic: bool
    placement: bool
    profile: bool
    output_folder: Path | None
    require_reference: bool

    def check(self, config: DeviceConfig, timing: TimingOptions) -> None:
        """ConfigError for what does not go together."""
        if self.dynamic:
            alone: dict[str, str | int | None] = {
                "--profile": self.profile or None,
                "--sustained": int(timing.sustained_s) or None,
            }
            _refuse(alone, "is for one shape, not with --dynamic")
        if self.profile and not config.is_in_runner:
            raise ConfigError(
                "--profile needs the driver in the runner's process: --device host; halyard "
                "profile times nodes on any device"
            )


_extra_options = filled(
    "extras",
    RunExtras,
    click.option(
        "--dynamic",
        is_flag=True,
        help="Prepare a file once for all shapes that --shape, --dim or --input give, with the "
        "same name several times, and execute it in each.",
    ),
    click.option("--placement", is_flag=True, help="Tell where each operation ran."),
    click.option(
        "--profile",
        is_flag=True,
        help="Tell what each node takes, in as many executions again. On the host device only.",
    ),
    output_option,
    reference_option,
)


@click.command(
    epilog=examples(
        "halyard run --model mobilenet_v2 --type quant8",
        "halyard run --device vm --hal 1.0..1.3 --json result.json",
        "halyard run model.tflite --device SERIAL --placement",
    )
)
@model_options
@runtime_device_option
@driver_options(
    hal_option(
        "HAL version, a range of them, or all of HIDL's that can carry the model. "
        f"{hal_version.NEWEST}"
    ),
    backends_option(
        "In order of preference, with commas between. A run on any other is a failure."
    ),
    threads_option(),
    fast_math_option("Take rougher results that are faster."),
    mode_option("How it is executed: burst from HAL 1.2 on, reusable from aidl4 on.", "async"),
    instance_option("Use the service that is registered under this name, and start none."),
)
@timing_options("--repeat", "--num-runs", runs=10, most_s=0.0)
@_service_options
@_extra_options
@baseline_options
@written_options(csv_option("each HAL version"))
def run(
    *,
    model: ModelChoice,
    name: str,
    driver: DriverChoice,
    service: ServiceChoice,
    timing: TimingOptions,
    extras: RunExtras,
    baseline: Baseline,
    written: WrittenFiles,
) -> None:
    """Runs a model on a device and compares it with LiteRT."""
    earlier = baseline.read()
    versions = parse_hal(driver.hal)
    config = place_of(name)
    if config.door is not None:
        check_in_litert(config.door, driver, _unheeded(config.door, service, extras))
    backends = driver.backends_on(config)
    benchmark_model = model.dynamic() if extras.dynamic else model.benchmark_model()
    versions.check(benchmark_model)
    extras.check(config, timing)
    service.check(config, driver)
    terminal = Terminal()
    measurements: list[Measurement] = []
    request = Request(benchmark_model, versions, config, backends, driver, service, timing, extras)
    # A device that is not there is told before a model is built, which takes longer.
    with (
        _kept(written, measurements, name),
        open_shown(terminal, name, config) as device,
    ):
        request.execute(terminal, device, measurements)
    if extras.output_folder is not None:
        _write_arrays(extras.output_folder, benchmark_model, measurements)
    documents = [measurement.record() for measurement in measurements]
    if written.json_path is not None:
        _write_json(written.json_path, documents)
    if written.csv_path is not None:
        output_file.write(written.csv_path, csv_file.text(documents).encode())
    not_compared = [each for measurement in measurements for each in measurement.not_compared]
    print_not_compared(terminal, not_compared, len(measurements), "run")
    slower = baseline.is_slower(terminal, earlier, documents)
    unsure = extras.require_reference and bool(not_compared)
    if slower or unsure or not all(measurement.ok for measurement in measurements):
        sys.exit(1)


@dataclass(frozen=True)
class Request:
    """The command line's request, once it is known to make sense."""

    benchmark_model: RunModel
    versions: HalChoice
    config: DeviceConfig
    backends: Sequence[str]
    driver: DriverChoice
    service: ServiceChoice
    timing: TimingOptions
    extras: RunExtras

    def execute(self, terminal: Terminal, device: Device, measurements: list[Measurement]) -> None:
        """Builds the model and measures it through each version; `measurements` grows."""
        benchmark_model = self.benchmark_model
        with terminal.step(f"Building {benchmark_model}") as step:
            runnable = benchmark_model.runnable
            required = hal_version.ALL[0]
            if self.config.door is None:
                required = hal_version.lowest_version(runnable.model)
                step.outcome = f"needs HAL {hal_version.format(required)}"
        if self.config.door is None:
            if not isinstance(benchmark_model, DynamicModel):
                show_parts(terminal, benchmark_model)
            _check_seconds(benchmark_model, self.timing)
        carrying = self.versions.carrying(required)
        instance = self.driver.instance
        chosen = resolve_transport.resolve(self.versions.chosen, device, runnable, instance or "")
        versions = replace(self.versions, chosen=chosen)
        more = (GPU_PROFILING,) if self.extras.profile else ()
        series = Series(
            terminal=terminal,
            device=device,
            benchmark_model=benchmark_model,
            options=self._run_options(),
            driver=DriverOptions(
                self.backends, self.driver.threads, self.driver.fast_math, more=more
            ),
            timing=self.timing,
            measurements=measurements,
            peak=self._peak(terminal),
            placement=self.extras.placement,
        )
        if instance is not None:
            series.run(versions.targets(instance), carrying)
        elif not device.has_binder:
            series.run(lambda _: Target.within(device), carrying)
        else:
            with device.start_service(self._service_options(device, chosen)) as service:
                series.run_with(service, versions.targets(service.instance), carrying)

    def _peak(self, terminal: Terminal) -> Peak | None:
        if not self.extras.profile:
            return None
        with terminal.step("Measuring the machine's peak"):
            return machine.measure_peak(self.driver.threads or os.cpu_count() or 1)

    def _run_options(self) -> pb.RunOptions:
        timing = self.timing
        return pb.RunOptions(
            mode=EXECUTION_MODES[self.driver.mode],
            measure_timing=True,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
            profile=timing.runs if self.extras.profile else 0,
            warmup_s=timing.warmup_s,
            min_s=timing.least_s,
            max_s=timing.most_s,
            cache_folder=self.service.cache_folder or "",
        )

    def _service_options(self, device: Device, chosen: hal_version.Choice) -> ServiceOptions:
        arguments = []
        folder = self.service.dump_folder
        if folder is not None:
            device.shell(f"mkdir -p {shlex.quote(folder)}").check()
            arguments = ["-d", folder]
        return ServiceOptions(
            program=self.config.service.program,
            instance=self.service.service_name or self.config.service.instance,
            wires=chosen.wires,
            backends=self.backends,
            threads=self.driver.threads or None,
            fast_math=self.driver.fast_math,
            unsupported=self.service.turned_off,
            arguments=arguments,
        )


def _unheeded(door: Door, service: ServiceChoice, extras: RunExtras) -> dict[str, str | None]:
    """Options that LiteRT's runtime has no use for, and why."""
    service_reason = "is for a service of Android's"
    return {
        "--service-name": service_reason if service.service_name is not None else None,
        "--unsupported-operations": service_reason if service.unsupported is not None else None,
        "--request-inputs-and-outputs-dump-dir": service_reason if service.dump_folder else None,
        "--cache-dir": LACKING[door].get("--cache-dir") if service.cache_folder else None,
        "--dynamic": "prepares one model of NNAPI's for several shapes, and LiteRT's runtime "
        "prepares anew for each: run it once for each shape"
        if extras.dynamic
        else None,
        "--profile": NO_PROFILE if extras.profile else None,
    }


def _operations(text: str | None) -> list[str]:
    """The operations that -u names: operations, or their codes, with commas between."""
    names = [item.strip() for item in text.split(",")] if text is not None else []
    for name in names:
        if not (name.isascii() and name.isdigit()):
            operations.check_name(name, "--unsupported-operations")
    return [name.upper() for name in names]


def _refuse(options: Mapping[str, str | int | None], reason: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{option} {reason}")


@contextmanager
def _kept(written: WrittenFiles, measurements: Sequence[Measurement], name: str) -> Iterator[None]:
    """Measurements made by then are kept, where they can't be printed, or a later step fails."""
    try:
        yield
    finally:
        written.keep([each.record() for each in measurements], name)


def _check_seconds(benchmark_model: RunModel, timing: TimingOptions) -> None:
    """Parts that run apart have to run as often as each other."""
    by_time = timing.warmup_s or timing.least_s or timing.most_s or timing.sustained_s
    if by_time and isinstance(benchmark_model.runnable, PartitionedModel):
        raise ConfigError(
            f"{benchmark_model} runs in parts, some of them on the host: these are executed by "
            "number (--repeat, --warmup), and not for --warmup-secs, --min-secs, --max-secs or "
            "--sustained"
        )


def _write_arrays(
    folder: Path,
    benchmark_model: RunModel,
    measurements: Sequence[Measurement],
) -> None:
    """A file for each shape and each HAL version, where there are several."""
    shapes = (
        benchmark_model.benchmark_models
        if isinstance(benchmark_model, DynamicModel)
        else (benchmark_model,)
    )
    versions = {each.hal for each in measurements}
    for number, each in enumerate(shapes):
        shape = f"-{number + 1}" if len(shapes) > 1 else ""
        write_inputs(folder / f"inputs{shape}.npz", each, each.input_arrays())
        for measurement in measurements:
            if measurement.benchmark_model == each and measurement.outputs is not None:
                version = f"-{measurement.hal}" if len(versions) > 1 else ""
                path = folder / f"outputs{version}{shape}.npz"
                write_outputs(path, each, measurement.outputs)


def _write_json(path: Path, documents: Sequence[Run]) -> None:
    """An object; a list of them if several HAL versions were run."""
    content = documents[0] if len(documents) == 1 else documents
    output_file.write(path, records.encode(content))


COMMANDS = (run,)
