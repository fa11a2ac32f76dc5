# SPDX-License-Identifier: Apache-2.0
"""The command run: a model of the zoo, or of a file, on a device."""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from halyard import hal_version, machine, operations, output_file, reach, records
from halyard.backends import parse as parse_backends
from halyard.bench import baseline as baselines
from halyard.bench import csv_file, timed
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import check_lasting, device_option, open_shown
from halyard.cli.options.inputs import output_option
from halyard.cli.options.json import json_option
from halyard.cli.options.model import ModelChoice, model_options, show_parts
from halyard.cli.options.reference import print_not_compared, reference_option
from halyard.cli.options.results import keep, results_option
from halyard.cli.options.timing import (
    Timing,
    baseline_options,
    check_baseline,
    cooling_options,
    sustained_option,
    timing_options,
)
from halyard.cli.run_series import Series, Targets
from halyard.conditions import Gate
from halyard.devices import ServiceOptions, config_of
from halyard.devices.config import check_instance
from halyard.driver_options import GPU_PROFILING, DriverOptions
from halyard.engines.output_files import write_inputs, write_outputs
from halyard.errors import ConfigError
from halyard.measurement import Measurement
from halyard.model.partitioned import PartitionedModel
from halyard.output_file import check_writable
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Run
from halyard.runner import EXECUTION_MODES, Target
from halyard.subject import DynamicSubject, FileSubject, Subject
from halyard.terminal import Terminal


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
    shell_complete=completions.backend_list,
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
@reference_option
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
    require_reference: bool,
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
        series = Series(
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
    not_compared = [each for measurement in measurements for each in measurement.not_compared]
    print_not_compared(terminal, not_compared, len(measurements), "run")
    slower = False
    if earlier is not None:
        terminal.heading("Beside the baseline")
        slower = baselines.judge(terminal, earlier, documents, fail_above)
    unsure = require_reference and bool(not_compared)
    if slower or unsure or not all(measurement.ok for measurement in measurements):
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
