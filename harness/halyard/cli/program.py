# SPDX-License-Identifier: Apache-2.0
"""The command `halyard`. Exit codes: 0 all went well, 1 something failed, 2 a wrong command."""

import io
import logging
import signal
import sys
from pathlib import Path

import click

from halyard import native, operations, zoo
from halyard.cli import demo as demonstration
from halyard.cli import settings
from halyard.cli.bench import bench
from halyard.cli.calibrate import calibrate
from halyard.cli.compare import compare
from halyard.cli.completion import completion
from halyard.cli.conformance import conformance
from halyard.cli.convert import convert_command
from halyard.cli.deploy import deploy
from halyard.cli.doctor import doctor
from halyard.cli.files import log, pull, push, shell
from halyard.cli.group import Program, examples, flush
from halyard.cli.options import completions
from halyard.cli.options.json import json_option, write_json
from halyard.cli.options.model import save
from halyard.cli.profile import profile
from halyard.cli.report import report
from halyard.cli.run import run
from halyard.cli.vm import vm
from halyard.cli.vts import vts
from halyard.devices import check_there, config_of
from halyard.devices.adb_link import LinkBroken, usb_serials
from halyard.errors import ConfigError
from halyard.records.listing import Devices, NamedDevice, Operation, Operations
from halyard.terminal import Terminal, printable
from halyard.vm.machine import MACHINES
from halyard.vm.virtual_machine import Resident

_EPILOG = (
    examples(
        "halyard devices",
        "halyard run --model mobilenet_v2 --type quant8",
        "halyard run --device vm --hal 1.0..1.3",
        "halyard conformance my_op.mod.py",
    )
    + "\n\nEach command has a --help with examples. Exit codes: 0 all went well, 1 something "
    "failed, 2 a wrong command, 130 and 143 ended by Ctrl-C and SIGTERM."
)


class _LogFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@click.group(cls=Program, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halyard")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done.")
@click.option(
    "--settings",
    "settings_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar=settings.VARIABLE,
    metavar="FILE",
    help="YAML with defaults of your own for options: run: {device: vm}. Left out: "
    f"${settings.VARIABLE}, or ~/.config/halyard/settings.yaml.",
)
@click.pass_context
def cli(context: click.Context, *, verbose: bool, settings_path: Path | None) -> None:
    """Deploys, proves and measures the Halyard NNAPI driver."""
    if (path := settings_path or settings.usual()) is not None:
        context.default_map = settings.load(path, cli)
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_LogFormatter("%(name)s: %(message)s"))


for _command in (
    run,
    bench,
    compare,
    profile,
    calibrate,
    conformance,
    vts,
    doctor,
    convert_command,
    report,
    deploy,
    save,
    push,
    pull,
    shell,
    log,
    vm,
    completion,
):
    cli.add_command(_command)


@cli.command(epilog=examples("halyard devices", "halyard devices --json -"))
@json_option
def devices(*, json_path: Path | None) -> None:
    """Lists the devices that can be named."""
    rows = []
    for machine in MACHINES.values():
        what = "this machine" if machine.is_here() else f"QEMU's {machine.name} programs"
        state = native.lacking(machine.uname) or "the driver runs in the runner's process"
        rows.append([f"host{machine.suffix}", what, state])
    for machine in MACHINES.values():
        running = Resident(machine=machine).running()
        state = f"runs on port {running.port}" if running else "is booted when it is needed"
        state = state if running else native.lacking(machine.uname) or state
        rows.append([f"vm{machine.suffix}", f"virtual device, {machine.name}", state])
        for name in Resident.names(machine):
            running = Resident(machine=machine, name=name).running()
            state = f"runs on port {running.port}" if running else "is booted when it is needed"
            rows.append([f"vm{machine.suffix}:{name}", f"virtual device, {machine.name}", state])
    try:
        rows += [[serial, "USB", ""] for serial in usb_serials()]
        note = ""
    except LinkBroken as error:
        note = str(error)
    terminal = Terminal()
    terminal.table(["device", "kind", "state"], rows)
    if note:
        terminal.line(note)
    configurations = sorted(map(str, native.device_configs().glob("*.yaml")))
    terminal.heading("device configurations")
    for path in configurations:
        terminal.line(path)
    named = [NamedDevice(name=name, kind=kind, state=state) for name, kind, state in rows]
    write_json(json_path, Devices(devices=named, configurations=configurations, note=note))


@cli.command(epilog=examples("halyard demo", "halyard demo --device SERIAL --size 224 --width 1"))
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
    document = demonstration.run(Terminal(), name, size, width)
    write_json(json_path, document)
    if not document.ok:
        sys.exit(1)


@cli.command(
    name="operations",
    epilog=examples("halyard operations", "halyard operations --json - | jq '.operations[].name'"),
)
@click.option("--markdown", is_flag=True, help="As the table in docs/operations.md.")
@json_option
def list_operations(*, markdown: bool, json_path: Path | None) -> None:
    """Lists the operations that the driver runs."""
    rows = list(operations.table().values())
    if markdown:
        click.echo(operations.as_markdown(rows), nl=False)
    else:
        Terminal().table(operations.COLUMNS, [row.cells() for row in rows])
    listed = [
        Operation(name=row.name, code=row.code, since=row.since, types=dict(row.types))
        for row in rows
    ]
    write_json(json_path, Operations(operations=listed))


def main() -> None:
    # So that what was started is ended and what was made is removed.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda number, _: sys.exit(128 + number))
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        # A name that is no UTF-8, or an output that can't show all, ends no command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli()
    except SystemExit as end:
        # Output that got lost is a failure, unless something worse is told already.
        sys.exit(end.code if flush() or end.code else 1)
