# SPDX-License-Identifier: Apache-2.0
"""Values that a shell is offered: models, devices, sides, backends. What can't be found out is left
away: a shell has no place for an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import get_args

import click
from click.shell_completion import CompletionItem

from halyard import zoo
from halyard.comparison.choice import LIBRARIES
from halyard.conversion import FORMATS
from halyard.devices.adb_link import usb_serials
from halyard.devices.inside_litert import DOORS
from halyard.devices.library import Interface
from halyard.devices.link_errors import LinkBroken
from halyard.errors import HalyardError
from halyard.programs import backends
from halyard.vm.machine_type import MACHINES, X86_64
from halyard.vm.virtual_machine import Resident

Items = list[CompletionItem[str]]
Offer = Callable[[click.Context, click.Parameter, str], Items]

# The shell's own names of files.
_FILE = CompletionItem("", type="file")


def model(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Of the zoo, and files; any file where no name begins so."""
    names = _beginning(zoo.NAMES, incomplete)
    return [*names, *_beginning(_model_files(), incomplete)] if names else [_FILE]


def models(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    return _of_list([*zoo.NAMES, *_model_files()], incomplete)


def _model_files() -> list[str]:
    """In the folder where the command is typed."""
    extensions = {extension for each in FORMATS for extension in each.extensions}
    try:
        return sorted(each.name for each in Path().iterdir() if each.suffix in extensions)
    except OSError:
        return []


def input_file(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Any file; behind a name's = those of the folder that is typed, since a shell does not split
    there."""
    name, equals, path = incomplete.rpartition("=")
    if not equals:
        return [_FILE]
    folder, last = Path(path).parent, "" if path.endswith("/") else Path(path).name
    folder = Path(path) if path.endswith("/") else folder
    try:
        found = sorted(each for each in folder.iterdir() if each.name.startswith(last))
    except OSError:
        return []
    return [CompletionItem(f"{name}={each}{'/' if each.is_dir() else ''}") for each in found]


def device(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Any file where no name begins so: a configuration."""
    return _beginning(_devices(), incomplete) or [_FILE]


def runtime_device(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Also LiteRT's runtime on this machine."""
    return _beginning([*_devices(), *DOORS], incomplete) or [_FILE]


def lasting_device(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Without the host, which keeps nothing."""
    names = [each for each in _devices() if not each.startswith(("host", "ndk"))]
    return _beginning(names, incomplete) or [_FILE]


def devices(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    return _of_list(_devices(), incomplete)


def _devices() -> list[str]:
    names = [f"host{machine.suffix}" for machine in MACHINES.values()]
    names += get_args(Interface)
    for machine in MACHINES.values():
        kind = f"vm{machine.suffix}"
        names += [kind, *(f"{kind}:{name}" for name in Resident.names(machine))]
    try:
        return [*names, *usb_serials()]
    except LinkBroken:
        return names


def vm_name(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    machine = MACHINES.get(context.params.get("machine") or "", X86_64)
    return _beginning(Resident.names(machine), incomplete)


def backend_list(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    # Each may have options behind it.
    given = [each.partition(":")[0] for each in incomplete.split(",")[:-1]]
    return _of_list([name for name in _backends() if name not in given], incomplete)


def side(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Of compare."""
    if incomplete.startswith("torch="):
        return [_FILE]
    sides = [*_backends(), *LIBRARIES, *DOORS, "torch=", *_devices()]
    return _beginning(sides, incomplete) or [_FILE]


def _backends() -> Sequence[str]:
    try:
        return backends.built_in()
    except HalyardError:
        return []


def _beginning(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _of_list(names: Iterable[str], incomplete: str) -> Items:
    """The last of several with commas between, which is none of those before."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    left = [name for name in names if name not in taken and name.startswith(last)]
    return [CompletionItem(f"{before}{comma}{name}") for name in left]
