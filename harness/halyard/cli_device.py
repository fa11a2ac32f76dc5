# SPDX-License-Identifier: Apache-2.0
"""How commands name a device and open it."""

from pathlib import Path

import click

from halyard.devices import Device, config_of, open_config
from halyard.devices.config import DeviceConfig
from halyard.errors import ConfigError
from halyard.terminal import Terminal
from halyard.vm.virtual_machine import Resident

METAVAR = "host|vm|host-arm64|vm-arm64|SERIAL|HOST:PORT|YAML"

device_option = click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=METAVAR,
    help="Where: this machine, the virtual device, a phone, or a device configuration.",
)

# For what stays on the device after the command: host and a vm that is booted for it keep nothing.
lasting_device_option = click.option(
    "--device",
    "name",
    required=True,
    metavar="vm|SERIAL|HOST:PORT|YAML",
    help="Which: the virtual device (halyard vm start), a phone, or a device configuration.",
)


def open_shown(terminal: Terminal, name: str) -> Device:
    """Opens it, and shows what takes long."""
    config = config_of(name)
    if config.kind == "host":
        return open_config(config)
    with terminal.step(f"Opening {name}") as step:
        device = open_config(config, lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"))
        step.outcome = device.serial
    return device


def open_lasting(name: str) -> Device:
    """ConfigError for a device that would be gone with the command."""
    config = config_of(name)
    check_lasting(config)
    return open_config(config)


def check_lasting(config: DeviceConfig) -> None:
    """ConfigError for a device that would be gone with the command."""
    if config.kind == "host":
        raise ConfigError(
            "the host keeps nothing: its folder is there for one run. Name a device that stays: "
            "--device vm (after halyard vm start), or a phone's serial"
        )
    machine = config.emulated()
    if config.kind == "virtual" and Resident(machine=machine).running() is None:
        raise ConfigError(
            "the virtual device does not run, and one that is booted for this command would be "
            "gone with all that is on it: halyard vm start"
        )


def check_writable(path: Path) -> None:
    """ConfigError where a file can't be written, before work is done whose result goes there."""
    folder = path.parent
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder")
    if not folder.is_dir():
        raise ConfigError(f"{path}: {folder} is not a folder")
    # To open it tells what permissions alone do not: read-only file systems, above all.
    was_there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not was_there:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
