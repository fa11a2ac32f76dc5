# SPDX-License-Identifier: Apache-2.0
"""The commands `halyard vm …`: a virtual device that stays."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click

from halyard import paths
from halyard.cli.files import max_output_option, run_or_converse
from halyard.cli.group import Group, examples
from halyard.cli.options import completions
from halyard.cli.options.json import json_option, write_json
from halyard.devices.config import check_vm_name
from halyard.devices.virtual import VirtualDevice, answers
from halyard.errors import HalyardError
from halyard.records.listing import VirtualDeviceState
from halyard.terminal.console import Terminal
from halyard.vm import initramfs
from halyard.vm.accelerator import Accel, Kvm
from halyard.vm.machine_type import MACHINES, X86_64, Machine
from halyard.vm.virtual_machine import Resident, VirtualMachine, VmOptions


@dataclass(frozen=True)
class Chosen:
    machine: Machine
    name: str

    def resident(self) -> Resident:
        return Resident(machine=self.machine, name=self.name)


@click.group(
    cls=Group,
    epilog=examples(
        "halyard vm start",
        "halyard vm --name 1 start    # and 2: --device vm:1,vm:2",
    ),
)
@click.option(
    "--machine",
    default=X86_64.name,
    show_default=True,
    type=click.Choice(list(MACHINES)),
    help="Of which architecture: there is one of each.",
)
@click.option(
    "--name",
    default="",
    metavar="NAME",
    shell_complete=completions.vm_name,
    help="Which of several: --device vm:NAME means it.",
)
@click.pass_context
def vm(context: click.Context, machine: str, name: str) -> None:
    """A virtual device that stays until it is stopped.

    Commands with --device vm use it while it runs, and boot one of their own otherwise. It boots
    Debian's kernel. Where none is installed, and for another architecture, the first start fetches
    its package (70 MB) and keeps it; after that no network is needed.
    """
    if name:
        check_vm_name(name)
    context.obj = Chosen(MACHINES[machine], name)


@vm.command(epilog=examples("halyard vm start --memory 2048", "halyard vm start --accel tcg"))
@click.option(
    "--memory", default=1024, show_default=True, type=click.IntRange(256, 65536), help="MiB."
)
@click.option("--processors", default=2, show_default=True, type=click.IntRange(1, 64))
@click.option(
    "--accel",
    default=Accel.AUTO.value,
    show_default=True,
    type=click.Choice([each.value for each in Accel]),
    help="kvm; tcg, which emulates; or auto: KVM where a guest boots with it.",
)
@json_option
@click.pass_obj
def start(
    chosen: Chosen, *, memory: int, processors: int, accel: str, json_path: Path | None
) -> None:
    """Boots it, unless it runs."""
    terminal = Terminal()
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    asked = [name for name in context.params if context.get_parameter_source(name) is given]
    options = VmOptions(
        machine=chosen.machine,
        name=chosen.name,
        memory=memory,
        processors=processors,
        accel=Accel(accel),
    )
    with terminal.step("Booting the virtual device") as step:
        machine, is_new = chosen.resident().start(
            options,
            answers,
            lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"),
            asked=asked,
        )
        step.outcome = f"adb at 127.0.0.1:{machine.port}" if is_new else "it runs already"
    _describe(terminal, machine)
    write_json(json_path, _state(chosen, machine))


@vm.command(epilog=examples("halyard vm stop", "halyard vm --name 1 stop"))
@json_option
@click.pass_obj
def stop(chosen: Chosen, *, json_path: Path | None) -> None:
    """Stops it."""
    machine = chosen.resident().stop()
    click.echo("stopped" if machine else "it did not run")
    write_json(json_path, _state(chosen, None))


@vm.command(epilog=examples("halyard vm status", "halyard vm --name 1 status --json -"))
@json_option
@click.pass_obj
def status(chosen: Chosen, *, json_path: Path | None) -> None:
    """Says whether it runs, and how it is reached. Exit code 1 if it does not."""
    machine = chosen.resident().running()
    write_json(json_path, _state(chosen, machine))
    if machine is None:
        click.echo("the virtual device does not run")
        sys.exit(1)
    _describe(Terminal(), machine)


@vm.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples("halyard vm shell -- getprop", "halyard vm shell <script.sh"),
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@max_output_option
@click.pass_obj
def shell(chosen: Chosen, command: tuple[str, ...], max_output: int) -> None:
    """Runs COMMAND on it, or a shell for all that is typed or comes in. Exit code: its."""
    machine = chosen.resident().running()
    if machine is None:
        raise HalyardError("the virtual device does not run: halyard vm start")
    with VirtualDevice(machine) as device:
        device.limits.output = max_output * 2**20
        run_or_converse(device, command)


def _processor(machine: VirtualMachine) -> str:
    if not machine.is_emulated:
        return "this machine's (KVM)"
    failure = Kvm(paths.cache() / "kvm.json").failure()
    return "emulated: its times are no real device's" + (f" (KVM: {failure})" if failure else "")


def _state(chosen: Chosen, machine: VirtualMachine | None) -> VirtualDeviceState:
    return VirtualDeviceState(
        machine=chosen.machine.name,
        name=chosen.name,
        running=machine is not None,
        adb=f"127.0.0.1:{machine.port}" if machine else "",
        kernel=machine.kernel if machine else "",
        pid=machine.pid if machine else None,
        emulated=machine.is_emulated if machine else None,
        boot_seconds=machine.boot_seconds if machine else None,
    )


def _describe(terminal: Terminal, machine: VirtualMachine) -> None:
    minutes = (time.time() - machine.started) / 60
    stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in machine.stages.items())
    terminal.detail(f"adb       127.0.0.1:{machine.port}")
    terminal.detail(f"kernel    {machine.kernel}")
    terminal.detail(f"process   {machine.pid}, for {minutes:.0f} min")
    terminal.detail(f"processor {_processor(machine)}")
    terminal.detail(f"console   {machine.console}")
    terminal.detail(f"booted in {machine.boot_seconds:.1f} s ({stages})")
    if machine.programs != initramfs.digest(initramfs.native_programs(machine.machine)):
        terminal.detail("its programs are older than those installed here: stop and start it")


COMMANDS = (vm,)
