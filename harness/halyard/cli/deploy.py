# SPDX-License-Identifier: Apache-2.0
"""The command deploy: the service on a rooted device, with all that it needs, and off it again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click
from msgspec import structs

from halyard.cli.doctor import show
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.device import lasting_device_option, open_lasting
from halyard.cli.options.json import json_option, write_json
from halyard.deploy.deployment import Change as Step
from halyard.deploy.deployment import Deployment
from halyard.deploy.journal import Entry
from halyard.deploy.payload import Payload, for_own_folder, for_vendor, service_program, wires_of
from halyard.devices import Device, Wire, config_of
from halyard.devices.config import check_instance
from halyard.doctor.examination import record
from halyard.doctor.finding import Finding
from halyard.errors import ConfigError, DeviceError
from halyard.programs.backends import parse as parse_backends
from halyard.records.made import Change
from halyard.records.made import Deployment as Record
from halyard.terminal.console import Terminal, counted


@click.command(
    epilog=examples(
        "halyard deploy --device vm --dry-run",
        "halyard deploy --device SERIAL",
        "halyard deploy --device SERIAL --undo",
    )
)
@lasting_device_option
@click.option("--instance", metavar="NAME", help="What the service registers as.")
@click.option(
    "--wires",
    metavar="LIST",
    help="hidl, aidl or both. Left out: those that the device's release knows.",
)
@click.option(
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="In order of preference. Left out: CpuAcc.",
)
@click.option(
    "--work",
    is_flag=True,
    help="The program alone, in a folder of root's below /data: where /vendor can't be written.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--undo", is_flag=True, help="Put back what was there before.")
@json_option
def deploy(
    *,
    name: str,
    instance: str | None,
    wires: str | None,
    backends: str | None,
    work: bool,
    dry_run: bool,
    undo: bool,
    json_path: Path | None,
) -> None:
    """Puts the service on a rooted device or an emulator, and starts it.

    The program, its .rc file and its VINTF fragment go to /vendor; what was there is kept on the
    device, and --undo puts it back, also after a deployment that was cut off. What is there
    already stays. A device with Android's init reads the new files when it boots: boot it, and
    deploy again.
    """
    config = config_of(name)
    chosen = instance or config.service.instance
    check_instance(chosen, "--instance")
    if undo and (wires or backends or work):
        raise ConfigError("--undo takes back whatever was deployed: it has no other option")
    names = parse_backends(backends, known=False)
    chosen_wires = _wires(wires)
    terminal = Terminal()
    with open_lasting(name) as device:
        deployment = Deployment(device, name, chosen, terminal.detail)
        if undo:
            entries = _undo(terminal, deployment, name, dry_run=dry_run)
            done = [Change(what=each.kind, target=each.target) for each in entries]
            boot = deployment.has_init and bool(entries)
            write_json(json_path, _record(name, chosen, "undo", done, dry_run=dry_run, boot=boot))
            return
        make = for_own_folder if work else for_vendor
        program = service_program(_machine(device), names, is_android=deployment.is_android)
        terminal.detail(f"{program} is {deployment.check_program(program)}")
        payload = make(program, chosen, chosen_wires or _of_release(device), names)
        if dry_run:
            document = _tell(terminal, deployment, payload, name)
        else:
            document = _deploy(terminal, deployment, payload, name)
        write_json(json_path, document)
        if not document.ok:
            sys.exit(1)


def _wires(text: str | None) -> tuple[Wire, ...]:
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    unknown = [word for word in words if word not in list(Wire)]
    if unknown:
        raise ConfigError(f"--wires: no {unknown[0]!r}; there are hidl and aidl")
    return tuple(wire for wire in Wire if wire in words)


def _of_release(device: Device) -> tuple[Wire, ...]:
    sdk = device.properties().get("ro.build.version.sdk", "")
    return wires_of(int(sdk) if sdk.isdigit() else None)


def _machine(device: Device) -> str:
    return device.shell("uname -m").check().stdout.strip()


def _record(
    name: str,
    instance: str,
    action: Literal["deploy", "undo"],
    changes: Sequence[Change],
    findings: Sequence[Finding] = (),
    *,
    dry_run: bool = False,
    boot: bool = False,
) -> Record:
    found = structs.asdict(record(name, instance, findings))
    return Record(**found, action=action, dry_run=dry_run, changes=list(changes), needs_boot=boot)


def _changes(changes: Sequence[Step]) -> list[Change]:
    return [Change(what=each.word, target=each.target) for each in changes]


def _files(changes: Sequence[Step]) -> str:
    return counted(sum(change.word != "make" for change in changes), "file")


def _tell(terminal: Terminal, deployment: Deployment, payload: Payload, name: str) -> Record:
    changes = deployment.changes(payload)
    for change in changes:
        terminal.line(f"would {change.word} {change.target}")
    if not changes:
        terminal.line("all is there as it has to be")
    boot = deployment.needs_boot(changes)
    after = "after the next boot" if boot else "then"
    terminal.line(f"{after} would start {' '.join(payload.words)}")
    done = _changes(changes)
    return _record(name, payload.instance, "deploy", done, dry_run=True, boot=boot)


def _undo(
    terminal: Terminal, deployment: Deployment, name: str, *, dry_run: bool
) -> Sequence[Entry]:
    """The changes that it took back, or would."""
    if not deployment.is_there:
        terminal.line(f"{name}: nothing is deployed there")
        return []
    if dry_run:
        for entry in deployment.entries():
            terminal.line(f"would take back {entry.kind} {entry.target}")
        return deployment.entries()
    entries = deployment.undo()
    files = sum(entry.kind == "file" for entry in entries)
    terminal.line(f"{name}: {counted(files, 'file')} put back as before")
    if deployment.has_init:
        terminal.line("init forgets what it has read of them with the next boot: adb reboot")
    return entries


def _deploy(terminal: Terminal, deployment: Deployment, payload: Payload, name: str) -> Record:
    changes = deployment.changes(payload)
    try:
        deployment.deploy(payload, changes)
        if deployment.needs_boot(changes):
            terminal.line(
                f"{name}: {_files(changes)} put in place. "
                "Android reads them when it boots: adb reboot, and then "
                f"halyard deploy --device {name} once more"
            )
            return _record(name, payload.instance, "deploy", _changes(changes), boot=True)
        findings = deployment.start(payload)
    except (DeviceError, KeyboardInterrupt, SystemExit):
        terminal.line(
            f"{name}: the deployment broke off: halyard deploy --device {name} goes on with it, "
            "--undo takes it back"
        )
        raise
    for finding in findings:
        show(terminal, finding.check, [finding], quiet=False)
    document = _record(name, payload.instance, "deploy", _changes(changes), findings)
    if not document.ok:
        terminal.line(f"{name}: it does not run: halyard doctor --device {name} says more")
        return document
    done = f"{_files(changes)} put there" if changes else "nothing to do"
    terminal.line(f"{name}: {payload.instance} runs ({done})")
    return document


COMMANDS = (deploy,)
