# SPDX-License-Identifier: Apache-2.0
"""The commands push, pull, shell and log, named as adb names its own."""

import os
import shlex
import sys
from pathlib import Path, PurePosixPath

import click

from halyard.cli_device import lasting_device_option, open_lasting
from halyard.devices import WORK_FOLDER, Device
from halyard.devices.service_folder import LAST_LOG
from halyard.errors import HalyardError
from halyard.terminal import Terminal

# Seconds that a command typed by a person may take.
_PATIENCE = 3600


@click.command()
@click.argument("local", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("remote")
@lasting_device_option
def push(local: Path, remote: str, name: str) -> None:
    """Copies the file LOCAL onto the device, as REMOTE, or into it if it is a folder."""
    terminal = Terminal()
    with open_lasting(name) as device:
        if remote.endswith("/") or _is_folder(device, remote):
            remote = f"{remote.rstrip('/')}/{local.name}"
        with terminal.step(f"Pushing {local} to {remote}") as step:
            device.push(local, remote, progress=step.transfer)
            step.outcome = f"{local.stat().st_size} bytes"


@click.command()
@click.argument("remote")
@click.argument("local", type=click.Path(path_type=Path), default=".")
@lasting_device_option
def pull(remote: str, local: Path, name: str) -> None:
    """Copies the file REMOTE from the device, as LOCAL, or into it if it is a folder."""
    terminal = Terminal()
    if local.is_dir():
        local /= PurePosixPath(remote).name
    with open_lasting(name) as device:
        if _is_folder(device, remote):
            raise HalyardError(f"{name}: {remote} is a folder; pull its files one by one")
        with terminal.step(f"Pulling {remote} to {local}") as step:
            device.pull(remote, local, progress=step.transfer)
            step.outcome = f"{local.stat().st_size} bytes"


def _is_folder(device: Device, remote: str) -> bool:
    return device.shell(f"[ -d {shlex.quote(remote)} ]").exit_code == 0


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@lasting_device_option
def shell(command: tuple[str, ...], name: str) -> None:
    """Runs COMMAND on the device, or what is typed, line by line. Exit code: the command's."""
    with open_lasting(name) as device:
        run_or_converse(device, command)


def run_or_converse(device: Device, command: tuple[str, ...]) -> None:
    if command:
        sys.exit(_run(device, " ".join(command)))
    _converse(device)


def _run(device: Device, command: str) -> int:
    result = device.shell(command, timeout=_PATIENCE)
    click.echo(result.stdout, nl=False)
    click.echo(result.stderr, nl=False, err=True)
    return result.exit_code


def _converse(device: Device) -> None:
    """Each line is a shell of its own; the working folder is carried from one to the next."""
    folder = "/"
    marker = "halyard-folder "
    while True:
        try:
            line = input(f"{device.serial}:{folder} # " if sys.stdin.isatty() else "")
        except EOFError:
            return
        if line.strip() in {"exit", "logout"}:
            return
        result = device.shell(
            f"cd {shlex.quote(folder)}; {line}\ncode=$?; echo {marker}$PWD; exit $code",
            timeout=_PATIENCE,
        )
        output, found, place = result.stdout.rpartition(marker)
        folder = place.strip() if found else folder
        click.echo(output if found else result.stdout, nl=False)
        click.echo(result.stderr, nl=False, err=True)


@click.command()
@click.option("-t", "--tail", type=click.IntRange(1), metavar="N", help="Only the last N lines.")
@lasting_device_option
def log(name: str, tail: int | None) -> None:
    """Shows the log of the service that halyard runs on the device, or ran there last.

    A service that the device itself started logs as Android does: halyard shell logcat.
    """
    with open_lasting(name) as device:
        running = device.shell(f"cat {WORK_FOLDER}/service-*/log 2>/dev/null").stdout
        text = running or device.shell(f"cat {LAST_LOG} 2>/dev/null").stdout
    if not text:
        raise HalyardError(f"{name}: no service that halyard started has left a log there")
    lines = text.splitlines()
    click.echo(os.linesep.join(lines[-tail:] if tail else lines))
