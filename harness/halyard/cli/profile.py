# SPDX-License-Identifier: Apache-2.0
"""The command profile: what each node of a model takes, and when."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from halyard import device_memory, hal_version, machine, output_file, reach, records
from halyard.backends import parse as parse_backends
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import device_option, open_shown
from halyard.cli.options.json import json_option
from halyard.cli.options.model import ModelChoice, model_options, show_parts
from halyard.cli.options.results import keep, results_option
from halyard.devices import ServiceOptions, config_of
from halyard.devices.config import DeviceConfig, check_instance
from halyard.driver_options import DriverOptions
from halyard.durations import microseconds
from halyard.errors import ConfigError
from halyard.machine import Peak
from halyard.measurement import refusals
from halyard.output_file import check_writable
from halyard.profile import NodeTime, print_profile
from halyard.profiling import flame
from halyard.profiling.capture import MOST_EXECUTIONS, Capture, Profiled, capture
from halyard.terminal import Terminal

_FILE = click.Path(dir_okay=False, path_type=Path)
_WARMUP = 3


@click.command(
    epilog=examples(
        "halyard profile --model mobilenet_v2 --type quant8",
        "halyard profile model.tflite --device vm --trace model.pftrace",
        "halyard profile --flame flame.svg --folded stacks.txt",
    )
)
@model_options
@device_option
@click.option("--hal", metavar=hal_version.METAVAR_OF_ONE, help="One HAL version.")
@click.option(
    "-c",
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="In order of preference.",
)
@click.option("--threads", type=click.IntRange(0, 64), default=0, help="0: one per core.")
@click.option("--runs", default=20, show_default=True, type=click.IntRange(1, MOST_EXECUTIONS))
@click.option(
    "--warmup",
    default=_WARMUP,
    show_default=f"{_WARMUP}, or what --runs leaves of {MOST_EXECUTIONS}",
    type=click.IntRange(0, MOST_EXECUTIONS),
)
@click.option(
    "--instance",
    metavar="NAME",
    help="Use the service that is registered under this name: its calls are timed, its nodes only "
    "if it is Halyard's.",
)
@click.option(
    "--trace",
    "trace_path",
    type=_FILE,
    metavar="FILE",
    help="For ui.perfetto.dev: calls, the driver's and the engine's slices as NNAPI names them, and"
    " the processors' frequency and load.",
)
@click.option("--flame", "flame_path", type=_FILE, metavar="FILE", help="A flame graph, as SVG.")
@click.option(
    "--folded",
    "folded_path",
    type=_FILE,
    metavar="FILE",
    help="The stacks of it, as flamegraph.pl and speedscope.app read them.",
)
@json_option
@results_option
def profile(
    *,
    model: ModelChoice,
    name: str,
    hal: str | None,
    backends: str | None,
    threads: int,
    runs: int,
    warmup: int,
    instance: str | None,
    trace_path: Path | None,
    flame_path: Path | None,
    folded_path: Path | None,
    json_path: Path | None,
    results_path: Path | None,
) -> None:
    """Times each node of a model on a device."""
    config = config_of(name)
    choice = hal_version.one_version(hal)
    source = click.get_current_context().get_parameter_source("warmup")
    if source is click.core.ParameterSource.DEFAULT:
        warmup = min(warmup, MOST_EXECUTIONS - runs)
    if runs + warmup > MOST_EXECUTIONS:
        raise ConfigError(
            f"--runs and --warmup are {runs + warmup} together, and a driver traces no more than "
            f"{MOST_EXECUTIONS}"
        )
    if instance is not None:
        check_instance(instance, "--instance")
        if config.kind == "host":
            raise ConfigError("--instance needs a service, and so a device: --device vm")
        if backends is not None or threads:
            raise ConfigError("--backends and --threads are for a service that is started here")
    asked = parse_backends(backends, known=config.kind != "adb")
    for path in (trace_path, flame_path, folded_path, json_path):
        if path is not None:
            check_writable(path)
    how = Profiled(
        count=runs,
        warmup=warmup,
        hal=choice,
        instance=instance or "",
        driver=DriverOptions(asked, threads),
        service=ServiceOptions(
            program=config.service.program,
            instance=config.service.instance,
            backends=asked,
            threads=threads or None,
        ),
    )
    terminal = Terminal()
    subject = model.subject()
    with open_shown(terminal, name, config) as device:
        with terminal.step(f"Building {subject}"):
            reach.carrying(choice, subject.runnable)
        show_parts(terminal, subject)
        how = replace(how, hal=reach.reached(choice, device, subject.runnable, instance or ""))
        peak = _peak(terminal, config, threads)
        with terminal.step(f"Profiling on {device.serial}") as step:
            found = capture(device, subject, how, peak)
            step.failed = bool(found.problems)
            keep(results_path, [found.record()], name)
    _print(terminal, found)
    model_name = subject.runnable.name
    for path, content in (
        (trace_path, found.trace),
        (flame_path, lambda: flame.svg(model_name, found.nodes).encode()),
        (folded_path, lambda: flame.folded(model_name, found.nodes).encode()),
        (json_path, lambda: records.encode(found.record())),
    ):
        if path is not None:
            output_file.write(path, content())
            terminal.line(f"written: {path}")
    if found.problems:
        sys.exit(1)


def _peak(terminal: Terminal, config: DeviceConfig, threads: int) -> Peak | None:
    """This machine's alone: programs of another architecture run emulated."""
    if config.kind != "host" or config.machine is not None:
        return None
    with terminal.step("Measuring the machine's peak"):
        return machine.measure_peak(threads or os.cpu_count() or 1)


def placed(found: Capture) -> list[str]:
    """What each backend ran, and why others did not."""
    rows: dict[str, list[NodeTime]] = {}
    for node in found.nodes:
        rows.setdefault(node.row.backend or "nothing", []).append(node)
    lines = [
        f"placement: {backend}: {_counted(sum(max(1, node.row.nodes) for node in nodes), 'node')} "
        f"in {_counted(len({node.row.piece for node in nodes}), 'piece')}, "
        f"{microseconds(sum(node.milliseconds for node in nodes))} ms"
        for backend, nodes in rows.items()
    ]
    return lines + [
        f"refused: {backend}: {_counted(count, 'node')}: {reason}"
        for backend, reason, count in refusals(found.result.placement)
    ]


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
