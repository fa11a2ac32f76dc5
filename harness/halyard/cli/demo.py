# SPDX-License-Identifier: Apache-2.0
"""The command demo: the main job, shown step by step, which is what `make demo` prints."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from halyard import zoo
from halyard.benchmark_model import BenchmarkModel
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import open_shown
from halyard.cli.options.json import json_option, write_json
from halyard.comparison.reference import Repetitions, reference
from halyard.devices import Device, Service, ServiceOptions, VirtualDevice, check_there, config_of
from halyard.engines import litert
from halyard.engines.halyard import HalyardDevice
from halyard.errors import ConfigError
from halyard.measurement.measurement import Measurement, measure
from halyard.measurement.measurement_text import agreement, placement, times
from halyard.model import DataType
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.records.made import Demo
from halyard.runner.execution import Target
from halyard.terminal.console import Terminal, counted
from halyard.transport import hal_version

_REPEAT = 3


def run(terminal: Terminal, device_name: str, size: int, width: float) -> Demo:
    """`ok`: every model ran through every HAL version that carries it, and agreed."""
    start = time.monotonic()
    _show_build(terminal)
    terminal.heading("Device")
    measurements: list[Measurement] = []
    with _open(terminal, device_name) as device:
        terminal.heading("Service")
        with terminal.step("Starting the service") as step:
            service = device.start_service(ServiceOptions())
            step.outcome = f"pid {service.pid}"
        with service:
            _show_service(terminal, service)
            for data_type in DataType:
                benchmark_model = BenchmarkModel("mobilenet_v2", data_type, size, width)
                measurements += _show_model(terminal, device, service, benchmark_model)
            with terminal.step("Stopping the service with SIGTERM") as step:
                code = service.stop()
                step.failed = code != 0
                step.outcome = f"exit code {code}"
    ok = code == 0 and all(measurement.ok for measurement in measurements)
    _show_summary(terminal, measurements)
    terminal.line()
    seconds = time.monotonic() - start
    verdict = "All went well" if ok else "Something went wrong"
    terminal.line(f"{verdict}, in {seconds:.0f} s.")
    return Demo(
        device=device_name,
        ok=ok,
        seconds=round(seconds, 3),
        exit_code=code,
        runs=[measurement.record() for measurement in measurements],
    )


def _show_build(terminal: Terminal) -> None:
    terminal.heading("Build")
    service = native.program("service")
    said = subprocess.run([service, "-V"], capture_output=True, text=True)
    terminal.detail((said.stdout + said.stderr).strip())
    for name in native.PROGRAMS:
        path = native.program(name)
        terminal.detail(f"{path.stat().st_size / 2**20:5.1f} MiB  {path.name}")
    if not litert.available():
        terminal.detail(f"results are not compared: {litert.MISSING}")


@contextmanager
def _open(terminal: Terminal, name: str) -> Iterator[Device]:
    with open_shown(terminal, name, config_of(name)) as device:
        if isinstance(device, VirtualDevice):
            machine = device.machine
            stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in machine.stages.items())
            own = "booted" if device.is_own else "runs already; it booted"
            terminal.detail(f"{own} in {machine.boot_seconds:.1f} s: {stages}")
        kernel = device.shell("uname -srm").stdout.strip()
        nodes = device.shell("ls /dev/*binder").stdout.split()
        terminal.detail(f"{kernel}; {', '.join(nodes)}")
        yield device


def _show_service(terminal: Terminal, service: Service) -> None:
    terminal.detail("registered:")
    for name in service.interfaces:
        terminal.detail(f"  {name}")
    for line in service.log().splitlines():
        # As the service logs a warning: a backend that it lacks, above all.
        if line.startswith("W/"):
            terminal.detail(line)


def _show_model(
    terminal: Terminal, device: Device, service: Service, benchmark_model: BenchmarkModel
) -> list[Measurement]:
    terminal.heading(f"{benchmark_model}")
    with terminal.step("Building the model") as step:
        model = benchmark_model.zoo_model.model
        required = hal_version.lowest_version(model)
        count = counted(len(model.main.operations), "operation")
        step.outcome = (
            f"{count}, {model.ByteSize() / 2**20:.1f} MiB, needs HAL {hal_version.format(required)}"
        )
    with terminal.step("Running it in LiteRT on this machine") as step:
        step.outcome = reference(benchmark_model, Repetitions(_REPEAT)).reason
    measurements = []
    for version in hal_version.ALL:
        if version < required:
            continue
        options = pb.RunOptions(
            hal_version=version,
            mode=pb.EXECUTION_MODE_ASYNC,
            measure_timing=True,
            priority=pb.PRIORITY_MEDIUM,
        )
        with terminal.step(f"Through HAL {hal_version.format(version)}") as step:
            engine = HalyardDevice(device, Target.hidl(service.instance), options)
            measurement = measure(engine, benchmark_model, count=_REPEAT)
            step.failed = not measurement.ok
            step.outcome = "prepared and executed" if measurement.ok else "FAILED"
        for problem in measurement.problems:
            terminal.detail(problem)
        if measurement.execution is not None:
            for line in agreement(measurement):
                terminal.detail(line)
            terminal.detail(times(measurement))
        measurements.append(measurement)
    for line in placement(measurements[-1]):
        terminal.detail(line)
    return measurements


def _show_summary(terminal: Terminal, measurements: list[Measurement]) -> None:
    terminal.heading("Summary")
    rows = []
    for measurement in measurements:
        wall = measurement.wall
        rows.append(
            [
                str(measurement.benchmark_model.record().type),
                measurement.hal,
                "ok" if measurement.ok else "FAILED",
                _error(measurement),
                _exact(measurement),
                f"{wall.median:.1f}" if wall else "-",
                f"{measurement.result.prepare_ns / 1e6:.1f}",
            ]
        )
    emulated = any(measurement.emulated for measurement in measurements)
    numbers = ["exact", "ms per inference", "ms to prepare"]
    terminal.table(["type", "HAL", "result", "largest difference", *numbers], rows, numbers)
    if emulated:
        terminal.line("The device is emulated: its times are no real one's.")


def _error(measurement: Measurement) -> str:
    if not measurement.differences:
        return "-"
    if any(difference.says_nothing for difference in measurement.differences):
        return "all NaN"
    worst = max(measurement.differences, key=lambda difference: difference.max_abs_error)
    if worst.max_steps is not None:
        return f"{worst.max_steps} steps" if worst.max_steps != 1 else "1 step"
    return f"{worst.max_abs_error:.2e}"


def _exact(measurement: Measurement) -> str:
    """For quantised results: float sums that add in another order are rarely equal."""
    differences = measurement.differences or ()
    if not any(difference.max_steps is not None for difference in differences):
        return "-"
    total = sum(difference.count for difference in differences)
    exact = sum(difference.exact_share * difference.count for difference in differences)
    return f"{100 * exact / total:.2f} %"


@click.command(epilog=examples("halyard demo", "halyard demo --device SERIAL --size 224 --width 1"))
@click.option(
    "--device",
    "name",
    default="vm",
    show_default=True,
    metavar="vm|vm-arm64|SERIAL|HOST:PORT|YAML",
    shell_complete=completions.lasting_device,
    help="Where: the virtual device, a phone, or a device configuration.",
)
@click.option("--size", default=96, show_default=True, help="Of the image, in pixels.")
@click.option("--width", default=0.35, show_default=True, help="Of the layers, as a factor.")
@json_option
def demo(*, name: str, size: int, width: float, json_path: Path | None) -> None:
    """MobileNetV2 from Python, over adb and binder, through the engine and back."""
    zoo.check(size, width)
    config = config_of(name)
    if config.kind == "host":
        raise ConfigError("the demo needs a service, and so a device: --device vm, or a phone")
    check_there(config)
    document = run(Terminal(), name, size, width)
    write_json(json_path, document)
    if not document.ok:
        sys.exit(1)


COMMANDS = (demo,)
