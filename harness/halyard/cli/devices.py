# SPDX-License-Identifier: Apache-2.0
"""The command devices: which can be named."""

from pathlib import Path

import click

from halyard.cli.group import examples
from halyard.cli.options.json import json_option, write_json
from halyard.devices.adb_link import usb_serials
from halyard.devices.link_errors import LinkBroken
from halyard.programs import native
from halyard.records.listing import Devices, NamedDevice
from halyard.terminal.console import Terminal
from halyard.vm.machine_type import MACHINES
from halyard.vm.virtual_machine import Resident


@click.command(epilog=examples("halyard devices", "halyard devices --json -"))
@json_option
def devices(*, json_path: Path | None) -> None:
    """Lists the devices that can be named."""
    rows = []
    for machine in MACHINES.values():
        what = "this machine" if machine.is_here() else f"QEMU's {machine.name} programs"
        state = native.lacking(machine.uname) or "the driver runs in the runner's process"
        rows.append([f"host{machine.suffix}", what, state])
    for interface, what in (("ndk", "NNAPI's C functions"), ("ndk-sl", "a support library")):
        rows.append([interface, what, "the runner loads Halyard's; NAME:FILE another one"])
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


COMMANDS = (devices,)
