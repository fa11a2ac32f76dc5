# SPDX-License-Identifier: Apache-2.0
"""The command profile: what each node of a model takes, and when."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import click

from halyard import output_file
from halyard.cli.group import examples
from halyard.cli.options.device import device_option, open_shown
from halyard.cli.options.driver import (
    DriverChoice,
    backends_option,
    driver_options,
    hal_option,
    instance_option,
    threads_option,
)
from halyard.cli.options.filled import filled
from halyard.cli.options.json import write_json
from halyard.cli.options.model import ModelChoice, model_options
from halyard.cli.options.written import FILE, WrittenFiles, written_options
from halyard.devices import ServiceOptions, config_of
from halyard.devices.config import DeviceConfig
from halyard.engines.placement import lost_forms, refusals
from halyard.errors import ConfigError
from halyard.measurement.measurement_text import show_parts
from halyard.output_file import check_writable
from halyard.profiling import flame
from halyard.profiling.capture import MOST_EXECUTIONS, Capture, Profiled, capture
from halyard.profiling.node_times import NodeTime, print_profile
from halyard.programs.driver_options import DriverOptions
from halyard.records import device_memory
from halyard.terminal.console import Terminal
from halyard.terminal.durations import microseconds
from halyard.timing import machine
from halyard.timing.machine import Peak
from halyard.transport import hal_version, resolve_transport

_WARMUP = 3


@dataclass(frozen=True)
class Repeats:
    """How often the model executes. ConfigError for more than a driver traces."""

    runs: int
    warmup: int

    def __post_init__(self) -> None:
        if self.runs + self.warmup > MOST_EXECUTIONS:
            raise ConfigError(
                f"--runs and --warmup are {self.runs + self.warmup} together, and a driver traces "
                f"no more than {MOST_EXECUTIONS}"
            )


def _what_is_left(context: click.Context, option: click.Parameter, warmup: int) -> int:
    """Of the executions, where --warmup is not said. --runs is processed before it."""
    source = context.get_parameter_source(str(option.name))
    runs = context.params.get("runs")
    if source is not click.core.ParameterSource.DEFAULT or runs is None:
        return warmup
    return min(warmup, MOST_EXECUTIONS - int(runs))


_repeat_options = filled(
    "repeats",
    Repeats,
    click.option(
        "--runs",
        default=20,
        show_default=True,
        is_eager=True,
        type=click.IntRange(1, MOST_EXECUTIONS),
    ),
    click.option(
        "--warmup",
        default=_WARMUP,
        show_default=f"{_WARMUP}, or what --runs leaves of {MOST_EXECUTIONS}",
        type=click.IntRange(0, MOST_EXECUTIONS),
        callback=_what_is_left,
    ),
)


@dataclass(frozen=True)
class Drawings:
    """Files of what was profiled. ConfigError where one can't be written."""

    trace_path: Path | None
    flame_path: Path | None
    folded_path: Path | None

    def __post_init__(self) -> None:
        for path in (self.trace_path, self.flame_path, self.folded_path):
            if path is not None:
                check_writable(path)

    def write(self, terminal: Terminal, found: Capture, name: str) -> None:
        """`name` is the model's."""
        for path, content in (
            (self.trace_path, found.trace),
            (self.flame_path, lambda: flame.svg(name, found.nodes).encode()),
            (self.folded_path, lambda: flame.folded(name, found.nodes).encode()),
        ):
            if path is not None:
                output_file.write(path, content())
                terminal.line(f"written: {path}")


_drawing_options = filled(
    "drawings",
    Drawings,
    click.option(
        "--trace",
        "trace_path",
        type=FILE,
        metavar="FILE",
        help="For ui.perfetto.dev: calls, the driver's and the engine's slices as NNAPI names "
        "them, and the processors' frequency and load.",
    ),
    click.option("--flame", "flame_path", type=FILE, metavar="FILE", help="A flame graph, as SVG."),
    click.option(
        "--folded",
        "folded_path",
        type=FILE,
        metavar="FILE",
        help="The stacks of it, as flamegraph.pl and speedscope.app read them.",
    ),
)


@click.command(
    epilog=examples(
        "halyard profile --model mobilenet_v2 --type quant8",
        "halyard profile model.tflite --device vm --trace model.pftrace",
        "halyard profile --flame flame.svg --folded stacks.txt",
    )
)
@model_options
@device_option
@driver_options(
    hal_option("One HAL version.", hal_version.METAVAR_OF_ONE),
    backends_option("In order of preference."),
    threads_option(),
    instance_option(
        "Use the service that is registered under this name: its calls are timed, its nodes only "
        "if it is Halyard's."
    ),
)
@_repeat_options
@_drawing_options
@written_options()
def profile(
    *,
    model: ModelChoice,
    name: str,
    driver: DriverChoice,
    repeats: Repeats,
    drawings: Drawings,
    written: WrittenFiles,
) -> None:
    """Times each node of a model on a device."""
    config = config_of(name)
    choice = hal_version.one_version(driver.hal)
    driver.check_on(config)
    if driver.instance is not None and (driver.backends is not None or driver.threads):
        raise ConfigError("--backends and --threads are for a service that is started here")
    how = _profiled(config, driver, choice, repeats)
    terminal = Terminal()
    benchmark_model = model.benchmark_model()
    with open_shown(terminal, name, config) as device:
        with terminal.step(f"Building {benchmark_model}"):
            resolve_transport.carrying(choice, benchmark_model.runnable)
        show_parts(terminal, benchmark_model)
        how = replace(
            how,
            hal=resolve_transport.resolve(choice, device, benchmark_model.runnable, how.instance),
        )
        peak = _peak(terminal, config, driver.threads)
        with terminal.step(f"Profiling on {device.serial}") as step:
            found = capture(device, benchmark_model, how, peak)
            step.failed = bool(found.problems)
            written.keep([found.record()], name)
    _print(terminal, found)
    drawings.write(terminal, found, benchmark_model.runnable.name)
    if written.json_path is not None:
        write_json(written.json_path, found.record())
        terminal.line(f"written: {written.json_path}")
    if found.problems:
        sys.exit(1)


def _profiled(
    config: DeviceConfig, driver: DriverChoice, hal: hal_version.Choice, repeats: Repeats
) -> Profiled:
    backends = driver.backends_on(config)
    return Profiled(
        count=repeats.runs,
        warmup=repeats.warmup,
        hal=hal,
        instance=driver.instance or "",
        driver=DriverOptions(backends, driver.threads),
        service=ServiceOptions(
            program=config.service.program,
            instance=config.service.instance,
            backends=backends,
            threads=driver.threads or None,
        ),
    )


def _peak(terminal: Terminal, config: DeviceConfig, threads: int) -> Peak | None:
    """This machine's alone: programs of another architecture run emulated."""
    if config.kind != "host" or config.machine is not None:
        return None
    with terminal.step("Measuring the machine's peak"):
        return machine.measure_peak(threads or os.cpu_count() or 1)


def placed(found: Capture) -> list[str]:
    """The nodes that each backend ran, why others did not, and which forms lost to the kernels."""
    rows: dict[str, list[NodeTime]] = {}
    for node in found.nodes:
        rows.setdefault(node.row.backend or "nothing", []).append(node)
    lines = [
        f"placement: {backend}: {_counted(sum(max(1, node.row.nodes) for node in nodes), 'node')} "
        f"in {_counted(len({node.row.partition for node in nodes}), 'partition')}, "
        f"{microseconds(sum(node.milliseconds for node in nodes))} ms"
        for backend, nodes in rows.items()
    ]
    lines += [
        f"refused: {backend}: {_counted(count, 'node')}: {reason}"
        for backend, reason, count in refusals(found.result.placement)
    ]
    return lines + [f"lost: {form}" for form in lost_forms(found.result.placement)]


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _print(terminal: Terminal, found: Capture) -> None:
    record = found.record()
    driver = f", {record.driver}" if record.driver else ""
    terminal.line(f"{record.target}, HAL {record.hal}{driver}: {record.executions} executions")
    if found.nodes:
        terminal.line()
        print_profile(terminal, found.nodes)
        terminal.line()
    for line in placed(found):
        terminal.line(line)
    if held := device_memory.text(record.device_memory):
        terminal.line(held)
    times = [("the client's call", record.wall_ms), ("in the driver", record.driver_ms)]
    said = [f"{what} {microseconds(value)} ms" for what, value in times if value is not None]
    if said:
        terminal.line(f"medians: {', '.join(said)}")
    for each in record.processors:
        load = "-" if each.mean_load is None else f"{each.mean_load:.0%}"
        speed = (
            ""
            if each.max_khz is None
            else f", {(each.min_khz or 0) / 1e3:.0f} to {each.max_khz / 1e3:.0f} MHz"
        )
        terminal.line(f"cpu{each.cpu}: load {load}{speed}")
    for note in record.notes:
        terminal.line(f"note: {note}")
    for problem in record.problems:
        terminal.line(f"PROBLEM  {problem}")


COMMANDS = (profile,)
