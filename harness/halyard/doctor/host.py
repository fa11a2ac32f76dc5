# SPDX-License-Identifier: Apache-2.0
"""This machine, on which the driver runs in the runner's process."""

from __future__ import annotations

from collections.abc import Iterator

from halyard.doctor.finding import Finding, ok, problem
from halyard.doctor.patient import Patient
from halyard.errors import HalyardError
from halyard.programs import native


def programs(patient: Patient) -> Iterator[Finding]:
    for name in (native.RUNNER,):
        try:
            path = patient.device.put_program(name)
        except HalyardError as error:
            yield problem(str(error), "build it", "make programs")
            continue
        done = patient.device.shell(f"'{path}' --help", timeout=20)
        said = (done.stderr or done.stdout).strip().splitlines()
        if done.exit_code == 0:
            yield ok(f"{name} starts, and holds the driver: {path}")
        else:
            yield problem(
                f"{path} does not start: {said[0] if said else 'it says nothing'}",
                "build it anew",
                "make programs",
            )
