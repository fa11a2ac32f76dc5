# SPDX-License-Identifier: Apache-2.0
"""The files to put on a device: the program, and what starts and declares it, as its release has
it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.devices.device import ServiceOptions, Wire
from halyard.doctor import init_script, manifest, places
from halyard.doctor.init_script import MadeFolder
from halyard.programs import native


@dataclass(frozen=True)
class Item:
    """A file at its place. No content: none may be there."""

    target: str
    content: Path | bytes | None
    mode: int = 0o644
    label: str = ""  # of SELinux; empty: what the device's policy gives it

    def size(self) -> int:
        """In bytes."""
        if isinstance(self.content, Path):
            return self.content.stat().st_size
        return len(self.content or b"")

    def digest(self) -> str:
        """SHA-256, as sha256sum prints it; empty: there is none."""
        if self.content is None:
            return ""
        if isinstance(self.content, Path):
            return native.digest(self.content)
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Payload:
    """`words` start the service; `service` is what init calls it, empty where it is not told.
    `folders` are those that init makes by the script at the next boot."""

    items: tuple[Item, ...]
    service: str
    words: tuple[str, ...]
    instance: str
    folders: tuple[MadeFolder, ...] = ()

    @property
    def manifests(self) -> list[Item]:
        return [item for item in self.items if item.target.endswith(".xml")]


def wires_of(sdk: int | None) -> tuple[Wire, ...]:
    """On which a release of that API level has NNAPI."""
    sdk = sdk or manifest.FIRST_WITHOUT_HIDL
    if sdk < manifest.FIRST_AIDL:
        return (Wire.HIDL,)
    return (Wire.AIDL,) if sdk >= manifest.FIRST_WITHOUT_HIDL else (Wire.HIDL, Wire.AIDL)


def service_program(machine: str, backends: Sequence[str], *, is_android: bool) -> Path:
    """The build to deploy: for GpuAcc on Android the one that can load OpenCL, where `make android`
    has built it; else the static one."""
    if is_android and ServiceOptions(backends=tuple(backends)).asks_for_gpu():
        found = native.bionic_program(native.SERVICE, machine)
        if found is not None:
            return found
    return native.program(native.SERVICE, machine)


def for_vendor(
    program: Path, instance: str, wires: Sequence[Wire], backends: Sequence[str]
) -> Payload:
    """As a vendor image has it."""
    aidl = Wire.AIDL in wires
    name, other = (
        (native.AIDL_SERVICE, native.SERVICE) if aidl else (native.SERVICE, native.AIDL_SERVICE)
    )
    configs = native.device_configs()
    script = _script((configs / f"{name}.rc").read_text(), instance, wires, backends)
    fragment = _fragment((configs / f"{name}.xml").read_text(), instance, wires)
    parsed = init_script.parse(script)
    [service] = parsed.services
    return Payload(
        items=(
            Item(
                f"{places.PROGRAM_FOLDER}/{name}",
                program,
                0o755,
                places.EXECUTABLE_LABEL,
            ),
            Item(f"{places.SCRIPT_FOLDER}/{name}.rc", script.encode()),
            Item(f"{places.FRAGMENT_FOLDER}/{name}.xml", fragment.encode()),
            # A name that is declared twice makes the whole manifest invalid.
            Item(f"{places.SCRIPT_FOLDER}/{other}.rc", None),
            Item(f"{places.FRAGMENT_FOLDER}/{other}.xml", None),
        ),
        service=service.name,
        words=tuple(service.words),
        instance=instance,
        folders=tuple(parsed.folders),
    )


def for_own_folder(
    program: Path, instance: str, wires: Sequence[Wire], backends: Sequence[str]
) -> Payload:
    """The program alone, where /vendor can't be written: beside the journal, as root runs it."""
    target = f"{places.DEPLOYMENT}/{native.SERVICE}"
    options = ServiceOptions(
        instance=instance, wires=tuple(wires), backends=tuple(backends), program=target
    )
    return Payload(
        items=(Item(target, program, 0o755),),
        service="",
        words=tuple(options.command_line()),
        instance=instance,
    )


def _script(text: str, instance: str, wires: Sequence[Wire], backends: Sequence[str]) -> str:
    text = text.replace(ServiceOptions.instance, instance)
    if Wire.HIDL not in wires:
        text = re.sub(r"    interface android\.\S+@.*\n", "", text)
    text = re.sub(r" --wires \S+", "", text)
    text = text.replace(" -n ", f" --wires {','.join(wires)} -n ", 1)
    if backends:
        text = text.replace(" -c CpuAcc ", f" -c {','.join(backends)} ", 1)
        # An OpenCL driver makes system calls of its own.
        if ServiceOptions(backends=backends).asks_for_gpu():
            text = text.replace(" --seccomp enforce", "", 1)
    return text


def _fragment(text: str, instance: str, wires: Sequence[Wire]) -> str:
    text = text.replace(ServiceOptions.instance, instance)
    for wire in Wire:
        if wire not in wires:
            text = re.sub(rf' *<hal format="{wire}">.*?</hal>\n', "", text, flags=re.DOTALL)
    return re.sub(r"<!-- From Android.*?-->\n", "", text)
