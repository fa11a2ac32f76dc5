# SPDX-License-Identifier: Apache-2.0
"""The command deploy: the service on a rooted device, with all that it needs, and off it again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from halyard import output_file, records
from halyard.backends import parse as parse_backends
from halyard.cli_device import lasting_device_option, open_lasting
from halyard.cli_doctor import show
from halyard.cli_group import examples
from halyard.deploy.deployment import Deployment
from halyard.deploy.payload import Payload, for_vendor, for_work_folder, wires_of
from halyard.devices import Device, Wire, config_of
from halyard.devices.config import check_instance
from halyard.doctor.examination import record
from halyard.doctor.finding import Verdict
from halyard.errors import ConfigError, DeviceError
from halyard.output_file import check_writable
from halyard.terminal import Terminal


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
@click.option("--backends", metavar="NAMES", help="In order of preference. Left out: CpuAcc.")
@click.option(
    "--work",
    is_flag=True,
    help="The program alone, in the work folder: where /vendor can't be written.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--undo", is_flag=True, help="Put back what was there before.")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
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
    if json_path is not None:
        check_writable(json_path)
    terminal = Terminal()
    with open_lasting(name) as device:
        deployment = Deployment(device, name, chosen, terminal.detail)
        if undo:
            _undo(terminal, deployment, name, dry_run=dry_run)
            return
        make = for_work_folder if work else for_vendor
        payload = make(_machine(device), chosen, chosen_wires or _of_release(device), names)
        if dry_run:
            _tell(terminal, deployment, payload)
            return
        _deploy(terminal, deployment, payload, name, json_path)


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


def _tell(terminal: Terminal, deployment: Deployment, payload: Payload) -> None:
    changes = deployment.changes(payload)
    for change in changes:
        terminal.line(f"would {change.word} {change.item.target}")
    if not changes:
        terminal.line("all files are there as they have to be")
    after = "after the next boot" if deployment.needs_boot(changes) else "then"
    terminal.line(f"{after} would start {' '.join(payload.words)}")


def _undo(terminal: Terminal, deployment: Deployment, name: str, *, dry_run: bool) -> None:
    if not deployment.is_there:
        terminal.line(f"{name}: nothing is deployed there")
        return
    if dry_run:
        for entry in deployment.entries():
            terminal.line(f"would take back {entry.kind} {entry.target}")
        return
    entries = deployment.undo()
    files = sum(entry.kind == "file" for entry in entries)
    terminal.line(f"{name}: {files} files are as they were before")
    if deployment.has_init:
        terminal.line("init forgets what it has read of them with the next boot: adb reboot")


def _deploy(
    terminal: Terminal,
    deployment: Deployment,
    payload: Payload,
    name: str,
    json_path: Path | None,
) -> None:
    changes = deployment.changes(payload)
    try:
        deployment.deploy(payload, changes)
        if deployment.needs_boot(changes):
            terminal.line(
                f"{name}: {len(changes)} files are in place. Android reads them when it boots: "
                f"adb reboot, and then halyard deploy --device {name} once more"
            )
            return
        findings = deployment.start(payload)
    except (DeviceError, KeyboardInterrupt, SystemExit):
        terminal.line(
            f"{name}: the deployment broke off: halyard deploy --device {name} goes on with it, "
            "--undo takes it back"
        )
        raise
    for finding in findings:
        show(terminal, finding.check, [finding], quiet=False)
    document = record(name, payload.instance, findings)
    if json_path is not None:
        output_file.write(json_path, records.encode(document))
    if any(each.verdict is Verdict.PROBLEM for each in findings):
        terminal.line(f"{name}: it does not run: halyard doctor --device {name} says more")
        sys.exit(1)
    done = f"{len(changes)} files put there" if changes else "nothing to do"
    terminal.line(f"{name}: {payload.instance} runs ({done})")
