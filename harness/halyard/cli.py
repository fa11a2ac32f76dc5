# SPDX-License-Identifier: Apache-2.0
"""The command `halyard`. Exit codes: 0 all went well, 1 something failed, 2 a wrong command."""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from halyard import demo as demonstration
from halyard import hal_version, native, operations, zoo
from halyard.cli_conformance import conformance
from halyard.cli_vm import vm
from halyard.devices import Device, ServiceOptions, config_of, open_config
from halyard.devices.adb_link import LinkBroken, usb_serials
from halyard.errors import ConfigError, HalyardError
from halyard.measurement import Measurement, Subject, measure
from halyard.proto import halyard_pb2 as pb
from halyard.report import print_measurement
from halyard.runner import Target
from halyard.terminal import Terminal
from halyard.vm.virtual_machine import Resident
from halyard.zoo import DataType


class _Group(click.Group):
    """Turns what the harness raises into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            raise click.UsageError(str(error)) from error
        except HalyardError as error:
            raise click.ClickException(str(error)) from error


_device = click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar="host|vm|SERIAL|HOST:PORT|YAML",
    help="Where: this machine, the virtual device, a phone, or a device configuration.",
)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halyard")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done.")
def cli(*, verbose: bool) -> None:
    """Deploys, proves and measures the Halyard NNAPI driver."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s"
    )


cli.add_command(vm)
cli.add_command(conformance)


@cli.command()
def devices() -> None:
    """Lists the devices that can be named."""
    machine = Resident().running()
    there = f"runs on port {machine.port}" if machine else "is booted when it is needed"
    rows = [["host", "this machine", "the driver runs in the runner's process"]]
    rows.append(["vm", "virtual device", there])
    try:
        rows += [[serial, "USB", ""] for serial in usb_serials()]
        note = ""
    except LinkBroken as error:
        note = str(error)
    terminal = Terminal()
    terminal.table(["device", "kind", "state"], rows)
    if note:
        terminal.line(note)
    terminal.heading("device configurations")
    for path in sorted(native.device_configs().glob("*.yaml")):
        terminal.line(str(path))


@cli.command()
@click.argument("local", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("remote")
@_device
def push(local: Path, remote: str, name: str) -> None:
    """Copies the file LOCAL onto the device, as REMOTE."""
    terminal = Terminal()
    with _open(terminal, name) as device:
        if remote.endswith("/"):
            remote += local.name
        with terminal.step(f"Pushing {local} to {remote}") as step:
            device.push(local, remote, progress=step.transfer)
            step.outcome = f"{local.stat().st_size} bytes"


@cli.command()
@click.option("--model", default="mobilenet_v2", show_default=True, type=click.Choice(zoo.NAMES))
@click.option(
    "--type",
    "type_name",
    default="float32",
    show_default=True,
    type=click.Choice([item.value for item in DataType]),
)
@click.option("--size", default=224, show_default=True, help="Of the image, in pixels.")
@click.option("--width", default=1.0, show_default=True, help="Of the layers, as a factor.")
@click.option("--seed", default=0, show_default=True, help="Of the input image.")
@_device
@click.option(
    "--hal",
    metavar="1.0|1.1|1.2|1.3|A..B|all",
    help="HAL version, a range of them, or all that can carry the model. Left out: the newest.",
)
@click.option("--backends", metavar="NAMES", help="In order of preference, with commas between.")
@click.option("--threads", type=click.IntRange(0, 64), default=0, help="0: one per core.")
@click.option("--mode", default="async", show_default=True, type=click.Choice(["async", "sync"]))
@click.option("--repeat", default=10, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--warmup", default=1, show_default=True, type=click.IntRange(0, 100_000))
@click.option(
    "--instance",
    metavar="NAME",
    help="Use the service that is registered under this name, and start none.",
)
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
def run(
    *,
    model: str,
    type_name: str,
    size: int,
    width: float,
    seed: int,
    name: str,
    hal: str | None,
    backends: str | None,
    threads: int,
    mode: str,
    repeat: int,
    warmup: int,
    instance: str | None,
    json_path: Path | None,
) -> None:
    """Runs a model of the zoo on a device and compares it with LiteRT."""
    subject = Subject(model, DataType(type_name), size, width, seed)
    names = [item.strip() for item in backends.split(",")] if backends else []
    if not all(names):
        raise ConfigError("--backends has an empty name")
    terminal = Terminal()
    with terminal.step(f"Building {subject}") as step:
        required = hal_version.lowest_version(subject.zoo_model.model)
        versions = select_versions(hal, required)
        step.outcome = f"needs HAL {hal_version.format(required)}"
    options = pb.RunOptions(
        mode=pb.EXECUTION_MODE_SYNC if mode == "sync" else pb.EXECUTION_MODE_ASYNC,
        measure_timing=True,
        warmup=warmup,
        repeat=repeat,
        preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
        priority=pb.PRIORITY_MEDIUM,
    )
    measurements: list[Measurement] = []
    with _open(terminal, name) as device:
        properties = device.properties()

        def measure_all(target: Target) -> None:
            for version in versions:
                options.hal_version = version
                with terminal.step(
                    f"Running on {device.serial}, {target.name}, HAL {hal_version.format(version)}"
                ):
                    measurement = measure(
                        device,
                        target,
                        subject,
                        options,
                        backends=names,
                        threads=threads,
                        properties=properties,
                    )
                measurements.append(measurement)
                print_measurement(terminal, measurement)

        if instance is not None:
            measure_all(Target.hidl(instance))
        elif not device.has_binder:
            measure_all(Target.in_process())
        else:
            service_config = config_of(name).service
            service_options = ServiceOptions(
                program=service_config.program,
                instance=service_config.instance,
                backends=names,
                threads=threads or None,
            )
            with device.start_service(service_options) as service:
                measure_all(Target.hidl(service.instance))
    if json_path is not None:
        _write_json(json_path, measurements)
    if not all(measurement.ok for measurement in measurements):
        sys.exit(1)


def select_versions(text: str | None, required: int) -> list[pb.HalVersion]:
    """The HAL versions that --hal names, none below what the model needs."""
    if text is None:
        return [pb.HAL_VERSION_UNSPECIFIED]
    if text == "all":
        return [version for version in hal_version.ALL if version >= required]
    first, dots, last = text.partition("..")
    try:
        low, high = hal_version.parse(first), hal_version.parse(last if dots else first)
    except ConfigError as error:
        raise ConfigError(f"--hal {text}: {error}") from error
    chosen = [version for version in hal_version.ALL if low <= version <= high]
    carrying = [version for version in chosen if version >= required]
    if not chosen or not carrying or (not dots and carrying != chosen):
        raise ConfigError(
            f"--hal {text}: the model needs HAL {hal_version.format(required)} or newer"
        )
    return carrying


def _write_json(path: Path, measurements: Sequence[Measurement]) -> None:
    """An object; a list of them if several HAL versions were run."""
    objects = [measurement.as_json() for measurement in measurements]
    content = objects[0] if len(objects) == 1 else objects
    try:
        path.write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error


@cli.command()
@click.option("--device", "name", default="vm", show_default=True)
@click.option("--size", default=96, show_default=True)
@click.option("--width", default=0.35, show_default=True)
def demo(name: str, size: int, width: float) -> None:
    """MobileNetV2 from Python, over adb and binder, through the engine and back."""
    if not demonstration.run(Terminal(), name, size, width):
        sys.exit(1)


@cli.command(name="operations")
@click.option("--markdown", is_flag=True, help="As the table in the README.")
def list_operations(*, markdown: bool) -> None:
    """Lists the operations that the driver runs."""
    program = native.program("service")
    done = subprocess.run([program, "--list-operations"], capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{program} --list-operations failed: {done.stderr.strip()}")
    rows = operations.parse(done.stdout)
    if markdown:
        click.echo(operations.as_markdown(rows), nl=False)
    else:
        Terminal().table(operations.COLUMNS, [row.cells() for row in rows])


def _open(terminal: Terminal, name: str) -> Device:
    config = config_of(name)
    if config.kind == "host":
        return open_config(config)
    with terminal.step(f"Opening {name}") as step:
        device = open_config(config, lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"))
        step.outcome = device.serial
    return device


def main() -> None:
    # So that what was started is ended and what was made is removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    cli()
