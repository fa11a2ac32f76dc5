# SPDX-License-Identifier: Apache-2.0
"""The VINTF manifest: does it declare the instance, as this release has it?"""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from halyard.devices.device import Wire
from halyard.doctor import places
from halyard.doctor.finding import Finding, ok, problem, warning
from halyard.doctor.patient import DeviceFile, Patient

# API levels.
FIRST_AIDL = 31
FIRST_WITHOUT_HIDL = 34
NEWEST_AIDL = 4
NEWEST_HIDL = 3
# Seconds by which a device's clock may have been set while it booted.
_SLACK = 10


@dataclass(frozen=True)
class Declaration:
    """Of an instance on a wire. `version`: HIDL's minor one, or AIDL's."""

    wire: Wire
    version: int
    instance: str
    file: str

    @property
    def interface(self) -> str:
        if self.wire is Wire.AIDL:
            return f"{places.PACKAGE}.IDevice"
        return f"{places.PACKAGE}@1.{self.version}::IDevice"

    def registrations(self) -> list[str]:
        """The names that a service has to register for it, as "interface/name"."""
        if self.wire is Wire.AIDL:
            return [f"{self.interface}/{self.instance}"]
        minors = range(self.version + 1)
        return [f"{places.PACKAGE}@1.{minor}::IDevice/{self.instance}" for minor in minors]


def declarations(file: DeviceFile) -> list[Declaration]:
    """Those of NNAPI. ET.ParseError for what is no XML."""
    found = []
    for hal in ET.fromstring(file.text.strip() or "<manifest/>").iter("hal"):
        if (hal.findtext("name") or "").strip() != places.PACKAGE:
            continue
        wire = Wire.AIDL if hal.get("format") == "aidl" else Wire.HIDL
        versions = [(each.text or "").strip() for each in hal.findall("version")] or ["1"]
        named = [(each.text or "").strip() for each in hal.findall("fqname")]
        for interface in hal.findall("interface"):
            kind = (interface.findtext("name") or "").strip()
            for instance in interface.findall("instance"):
                text = (instance.text or "").strip()
                if wire is Wire.AIDL:
                    named.append(f"{kind}/{text}")
                else:
                    named += [f"@{version}::{kind}/{text}" for version in versions]
        for name in named:
            declared = _declared(name, wire, versions[-1], file.path)
            if declared is not None:
                found.append(declared)
    return found


def _declared(name: str, wire: Wire, version: str, path: str) -> Declaration | None:
    if wire is Wire.AIDL:
        parts = re.fullmatch(r"IDevice/(\S+)", name)
        number = int(version) if version.isdigit() else 1
        return Declaration(wire, number, parts[1], path) if parts else None
    # All versions up to it are listed: a device may name any number.
    parts = re.fullmatch(r"@1\.(\d{1,3})::IDevice/(\S+)", name)
    return Declaration(wire, int(parts[1]), parts[2], path) if parts else None


def declared(patient: Patient) -> list[Declaration]:
    """Of the instance; what can't be read declares nothing."""
    found = []
    for file in patient.manifests:
        try:
            found += [each for each in declarations(file) if each.instance == patient.instance]
        except ET.ParseError:
            continue
    return found


# ---- the check ----------------------------------------------------------------------------------


def manifest(patient: Patient) -> Iterator[Finding]:
    deploy = f"halyard deploy --device {shlex.quote(patient.name)}"
    if patient.instance != "halyard-default":
        deploy += f" --instance {shlex.quote(patient.instance)}"
    if not patient.manifests:
        yield problem(
            f"no VINTF fragment of NNAPI lies in {places.FRAGMENT_FOLDER}",
            "push one: the service managers let in what it declares, and read it at boot",
            deploy,
        )
        return
    found: list[Declaration] = []
    others: list[Declaration] = []
    for file in patient.manifests:
        try:
            here = declarations(file)
        except ET.ParseError as error:
            yield problem(
                f"{file.path}: {error}",
                "libvintf refuses the device's whole manifest for it: mend it, or deploy it again",
                deploy,
            )
            continue
        found += [each for each in here if each.instance == patient.instance]
        others += [each for each in here if each.instance != patient.instance]
        if file.changed > patient.managers_started + _SLACK > _SLACK:
            yield warning(
                f"{file.path} has changed since the service managers read it",
                "boot again" if patient.has_init else "start them again",
                "adb reboot" if patient.has_init else _restart(patient),
            )
    if not found:
        there = ", ".join(sorted({each.instance for each in others})) or "none at all"
        yield problem(
            f"no manifest declares {patient.instance}; declared of NNAPI: {there}",
            "push a fragment that does, or examine another with --instance",
            deploy,
        )
    for each in found:
        yield _of_release(each, patient)
    yield from _twice(found, patient)


def _restart(patient: Patient) -> str:
    return patient.typed("killall hwservicemanager servicemanager")


def _of_release(each: Declaration, patient: Patient) -> Finding:
    sdk = patient.sdk or FIRST_WITHOUT_HIDL
    what = f"{each.interface}/{each.instance}"
    if each.wire is Wire.HIDL:
        if sdk >= FIRST_WITHOUT_HIDL:
            return warning(
                f"{what} is declared, and {patient.release} allows HIDL's NNAPI no more: VTS and "
                "updates refuse such an image, though it runs",
                f"take the HIDL entry out of {each.file}, or deploy the fragment of AIDL alone",
                f"halyard deploy --device {shlex.quote(patient.name)} --wires aidl",
            )
        if each.version > NEWEST_HIDL:
            return problem(f"{what}: there is no HIDL version 1.{each.version}", "write @1.3")
    elif sdk < FIRST_AIDL:
        return warning(
            f"{what} is declared, and {patient.release} knows no AIDL of NNAPI (since Android 12)",
            "deploy the fragment of HIDL",
            f"halyard deploy --device {shlex.quote(patient.name)} --wires hidl",
        )
    elif each.version > NEWEST_AIDL:
        return problem(f"{what} is of version {each.version}; NNAPI's newest is 4", "write 4")
    version = f" version {each.version}" if each.wire is Wire.AIDL else ""
    return ok(f"{what}{version}, in {each.file}")


def _twice(found: list[Declaration], patient: Patient) -> Iterator[Finding]:
    seen: dict[tuple[Wire, int], Declaration] = {}
    for each in found:
        key = (each.wire, 0 if each.wire is Wire.AIDL else each.version)
        first = seen.setdefault(key, each)
        if first is not each:
            yield problem(
                f"{each.interface}/{each.instance} stands in {first.file} and in {each.file}",
                "libvintf refuses the whole manifest: remove one of them",
                patient.typed(f"rm {shlex.quote(each.file)}"),
            )
