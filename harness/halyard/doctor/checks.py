# SPDX-License-Identifier: Apache-2.0
"""The checks, in the order in which one failing explains the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from halyard.doctor import (
    access,
    backends,
    binder,
    gpu,
    host,
    init_script,
    manifest,
    process,
    program,
    registration,
    release,
    selinux,
)
from halyard.doctor.finding import Finding
from halyard.doctor.patient import Patient


@dataclass(frozen=True)
class Check:
    """The subject of the check, in words for its name."""

    name: str
    look: Callable[[Patient], Iterator[Finding]]


_HOST = (
    Check("programs", host.programs),
    Check("limits", access.limits),
    Check("backends", backends.backends),
    Check("gpu", gpu.gpu),
)

_DEVICE = (
    Check("root", access.root),
    Check("release", release.release),
    Check("binder", binder.nodes),
    Check("managers", binder.managers),
    Check("program", program.program),
    Check("linker", program.linker),
    Check("init script", init_script.script),
    Check("manifest", manifest.manifest),
    Check("process", process.process),
    Check("registration", registration.registration),
    Check("selinux", selinux.selinux),
    Check("properties", release.properties),
    Check("backends", backends.backends),
    Check("gpu", gpu.gpu),
    Check("limits", access.limits),
    Check("disk", access.disk),
    Check("clock", access.clock),
)


def checks_for(patient: Patient) -> tuple[Check, ...]:
    return _DEVICE if patient.device.has_binder else _HOST
