# SPDX-License-Identifier: Apache-2.0
"""How commands name a device and open it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click

from halyard.cli.options import completions
from halyard.devices import Device, config_of, open_config, vm_options
from halyard.devices.config import DeviceConfig
from halyard.devices.inside_litert import DOORS
from halyard.errors import ConfigError
from halyard.terminal.console import Terminal
from halyard.vm.virtual_machine import Resident

METAVAR = "host|ndk|ndk-sl|vm|vm:NAME|host-arm64|vm-arm64|SERIAL|HOST:PORT|YAML"

# For commands that only want models run. A line of help has no room for all names.
RUNTIME_METAVAR = f"host|ndk|{'|'.join(DOORS)}|vm|vm:NAME|SERIAL|HOST:PORT|YAML"

device_option = click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=METAVAR,
    shell_complete=completions.device,
    help="Where: this machine, NNAPI's C functions on it (ndk:FILE: those of another library), the "
    "virtual device (QEMU, booted for the command unless halyard vm "
    "start left one), both of them as arm64, a phone, or a device configuration.",
)

runtime_device_option = click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=RUNTIME_METAVAR,
    shell_complete=completions.runtime_device,
    help="Where: this machine, NNAPI's C functions on it (ndk:FILE: those of another library; "
    "ndk-sl), LiteRT on it with Halyard inside, the virtual device (QEMU, booted for the command "
    "unless halyard vm start left one), both machines as arm64 (host-arm64, vm-arm64), a phone, or "
    "a device configuration.",
)

# For what stays on the device after the command: host and a vm that is booted for it keep nothing.
lasting_device_option = click.option(
    "--device",
    "name",
    required=True,
    metavar="vm|SERIAL|HOST:PORT|YAML",
    shell_complete=completions.lasting_device,
    help="Which: the virtual device (halyard vm start), a phone, or a device configuration.",
)


@contextmanager
def open_shown(terminal: Terminal, name: str, config: DeviceConfig) -> Iterator[Device]:
    """Opens it, and shows what takes long."""
    with ExitStack() as stack:
        if config.kind == "host":
            yield stack.enter_context(open_config(config))
            return
        with terminal.step(f"Opening {name}") as step:
            device = stack.enter_context(
                open_config(config, lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"))
            )
            step.outcome = device.serial
        yield device


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
    if config.kind != "virtual":
        return
    machine = Resident(machine=config.emulated(), name=config.name or "").running()
    if machine is None:
        raise ConfigError(
            "the virtual device does not run, and one that is booted for this command would be "
            "gone with all that is on it: halyard vm start"
        )
    differs = machine.differences(vm_options(config), config.asked)
    if differs:
        raise ConfigError(
            f"the virtual device that runs has {'; '.join(differs)}, and one that is booted for "
            "this command would be gone with all that is on it"
        )
