# SPDX-License-Identifier: Apache-2.0
"""The commands push, pull, shell and log, named as adb names its own."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

import click

from halyard.cli.group import examples
from halyard.cli.options.device import lasting_device_option, open_lasting
from halyard.cli.options.json import json_option, write_json
from halyard.devices import WORK_FOLDER, AdbDevice, Device, transfer
from halyard.devices.device import Limits
from halyard.devices.service_folder import LAST_LOG
from halyard.errors import HalyardError
from halyard.records.made import Transfer
from halyard.terminal.console import Terminal, counted, printable

# Seconds that a command typed by a person may take.
_PATIENCE = 3600
_MIB = 2**20

max_output_option = click.option(
    "--max-output",
    metavar="MIB",
    type=click.IntRange(1),
    default=Limits.output // _MIB,
    show_default=True,
    help="The most that is taken of a command's output.",
)


@click.command(
    epilog=examples(
        "halyard push model.pb /data/local/tmp/ --device vm",
        "halyard push folder /data/local/tmp/ --device SERIAL",
    )
)
@click.argument("local", type=click.Path(exists=True, path_type=Path))
@click.argument("remote")
@lasting_device_option
@json_option
def push(*, local: Path, remote: str, name: str, json_path: Path | None) -> None:
    """Copies LOCAL, a file or a folder, onto the device, as REMOTE, or into REMOTE if that is a
    folder there."""
    terminal = Terminal()
    # As adb: what a path ends in is its name, also of a folder that is given as `.`.
    own_name = local.resolve().name
    with open_lasting(name) as device:
        if remote.endswith("/") or _is_folder(device, remote):
            remote = f"{remote.rstrip('/')}/{own_name}"
        with terminal.step(f"Pushing {local} to {remote}") as step:
            if local.is_dir():
                sizes = transfer.push_folder(device, local, remote, step.part)
                step.outcome = _told(sizes)
            else:
                device.push(local, remote, progress=step.transfer)
                sizes = [local.stat().st_size]
                step.outcome = _bytes(sizes[0])
    write_json(json_path, _record("push", name, local, remote, sizes))


@click.command(
    epilog=examples(
        "halyard pull /data/local/tmp/dump.txt --device vm",
        "halyard pull /data/dumps results --device SERIAL",
    )
)
@click.argument("remote")
@click.argument("local", type=click.Path(path_type=Path), default=".")
@lasting_device_option
@click.option(
    "--max-size",
    metavar="MIB",
    type=click.IntRange(1),
    default=Limits.file // _MIB,
    show_default=True,
    help="The most that is taken of a file, or of all in a folder.",
)
@json_option
def pull(*, remote: str, local: Path, name: str, max_size: int, json_path: Path | None) -> None:
    """Copies REMOTE, a file or a folder, from the device, as LOCAL, or into LOCAL if that is a
    folder here."""
    terminal = Terminal()
    if local.is_dir():
        local /= PurePosixPath(remote).name
    with open_lasting(name) as device, terminal.step(f"Pulling {remote} to {local}") as step:
        device.limits.file = max_size * _MIB
        if _is_folder(device, remote):
            sizes = transfer.pull_folder(device, remote, local, step.part)
            step.outcome = _told(sizes)
        else:
            device.pull(remote, local, progress=step.transfer)
            sizes = [local.stat().st_size]
            step.outcome = _bytes(sizes[0])
    write_json(json_path, _record("pull", name, local, remote, sizes))


def _record(
    direction: Literal["push", "pull"], name: str, local: Path, remote: str, sizes: Sequence[int]
) -> Transfer:
    return Transfer(
        device=name,
        direction=direction,
        local=str(local),
        remote=remote,
        files=len(sizes),
        bytes=sum(sizes),
    )


def _told(sizes: Sequence[int]) -> str:
    return f"{counted(len(sizes), 'file')}, {_bytes(sum(sizes))}"


def _bytes(count: int) -> str:
    return counted(count, "byte")


def _is_folder(device: Device, remote: str) -> bool:
    return device.shell(f"[ -d {shlex.quote(remote)} ]").exit_code == 0


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "halyard shell --device vm -- ls -l /vendor/bin/hw",
        "halyard shell --device SERIAL <script.sh",
    ),
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@max_output_option
@lasting_device_option
def shell(command: tuple[str, ...], name: str, max_output: int) -> None:
    """Runs COMMAND on the device, or a shell for all that is typed or comes in. Exit code: its."""
    with open_lasting(name) as device:
        device.limits.output = max_output * _MIB
        run_or_converse(device, command)


def run_or_converse(device: Device, command: tuple[str, ...]) -> None:
    if command:
        sys.exit(_run(device, " ".join(command)))
    # Only devices behind adb stay.
    assert isinstance(device, AdbDevice)
    sys.exit(device.converse(_input(), _show))


def _input() -> int:
    return sys.stdin.fileno()


def _run(device: Device, command: str) -> int:
    result = device.shell(command, timeout=_PATIENCE)
    click.echo(result.stdout, nl=False)
    click.echo(result.stderr, nl=False, err=True)
    return result.exit_code


def _show(output: bytes, error: bytes) -> None:
    """As it comes: it may be half a character."""
    for stream, data in ((sys.stdout, output), (sys.stderr, error)):
        if data:
            stream.flush()
            stream.buffer.write(data)
            stream.buffer.flush()


@click.command(epilog=examples("halyard log --device vm", "halyard log --device SERIAL --tail 20"))
@click.option("-t", "--tail", type=click.IntRange(1), metavar="N", help="Only the last N lines.")
@max_output_option
@lasting_device_option
def log(name: str, tail: int | None, max_output: int) -> None:
    """Shows the log of the service that halyard runs on the device, or ran there last.

    A service that the device itself started logs as Android does: halyard shell logcat.
    """
    with open_lasting(name) as device:
        device.limits.output = max_output * _MIB
        running = device.shell(f"cat {WORK_FOLDER}/service-*/log 2>/dev/null").stdout
        text = running or device.shell(f"cat {LAST_LOG} 2>/dev/null").stdout
    if not text:
        raise HalyardError(f"{name}: no service that halyard started has left a log there")
    lines = printable(text).removesuffix("\n").split("\n")
    click.echo("\n".join(lines[-tail:] if tail else lines))


COMMANDS = (push, pull, shell, log)
