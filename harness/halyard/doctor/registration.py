# SPDX-License-Identifier: Apache-2.0
"""Registration: what clients find, of every HAL version on each wire."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from halyard.devices.adb_service import registered
from halyard.devices.device import Wire
from halyard.doctor import manifest
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient
from halyard.errors import DeviceError


def registration(patient: Patient) -> Iterator[Finding]:
    """Asks the service managers, through the runner, as a client does."""
    services = patient.services
    if isinstance(services, DeviceError):
        said = services.stderr.strip() or services.message
        yield unknown(
            f"the service managers don't answer: {said.splitlines()[0]}",
            "what the checks `binder` and `managers` say comes first",
        )
        return
    found = registered(services, patient.instance)
    wanted = _wanted(patient)
    for name in found:
        yield ok(name)
    missing = [name for name in wanted if name not in found]
    runs = bool(patient.own_processes)
    for wire in Wire:
        names = [name for name in missing if ("@" in name) == (wire is Wire.HIDL)]
        if names:
            yield _missing(patient, wire, names, runs=runs, some=bool(found))
    if not found and not missing:
        others = sorted(name for name in services if "neuralnetworks" in name)
        there = ", ".join(others) or "none"
        yield problem(
            f"nothing of NNAPI is registered as {patient.instance}; registered: {there}",
            "the manifest declares nothing of that name either: deploy both",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    for name in found:
        if name not in wanted and wanted:
            yield warning(
                f"{name} is registered, and no manifest declares it",
                "the framework asks for what is declared, and won't find it",
                f"halyard deploy --device {shlex.quote(patient.name)}",
            )


def _wanted(patient: Patient) -> list[str]:
    names = [name for each in manifest.declared(patient) for name in each.registrations()]
    return list(dict.fromkeys(names))


def _missing(patient: Patient, wire: Wire, names: list[str], *, runs: bool, some: bool) -> Finding:
    seen = f"declared and not registered: {', '.join(names)}"
    if not runs:
        return problem(
            seen,
            "there is no process that could: start the service",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    if some:
        return problem(
            seen,
            f"the service runs without this wire: start it with `--wires` that has {wire}, or "
            "without the option",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    return problem(
        seen,
        "the service runs and the manager let it not in: see its log, and the check `selinux`; a "
        "manifest that came after the boot takes effect with the next one",
        f"halyard log --device {shlex.quote(patient.name)}",
    )
