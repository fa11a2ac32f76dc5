# SPDX-License-Identifier: Apache-2.0
"""All checks of a device, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from halyard.devices import Device
from halyard.devices.config import DeviceConfig
from halyard.doctor import connection
from halyard.doctor.checks import Check, checks_for
from halyard.doctor.finding import Finding, Verdict, ok, problem, unknown
from halyard.doctor.patient import Patient
from halyard.errors import DeviceError, DeviceUnreachable, HalyardError
from halyard.records import doctor

# Opens the device; HalyardError where it can't be.
Open = Callable[[], AbstractContextManager[Device]]


def examine(config: DeviceConfig, name: str, instance: str, opened: Open) -> Iterator[Finding]:
    """The findings as they come. What can't be looked at is a finding, never an error."""
    if config.kind == "adb":
        yield from _named("adb", connection.adb())
    try:
        context = opened()
        device = context.__enter__()
    except HalyardError as error:
        there = connection.states() if config.kind == "adb" else {}
        yield replace(connection.failed(config, str(error), there), check="connection")
        return
    try:
        yield replace(ok(f"{device.serial} answers"), check="connection")
        yield from checked(Patient(device, name, instance))
    finally:
        context.__exit__(None, None, None)


def checked(patient: Patient, checks: Sequence[Check] | None = None) -> Iterator[Finding]:
    """The findings of these checks; left out: all that suit the device."""
    for check in checks if checks is not None else checks_for(patient):
        try:
            yield from _named(check.name, check.look(patient))
        except DeviceUnreachable as error:
            lost = problem(f"the device is gone: {error.message}", "plug it in, boot it", "")
            yield replace(lost, check=check.name)
            return
        except DeviceError as error:
            said = (error.stderr.strip() or error.message).splitlines()[0]
            yield replace(unknown(f"it can't be looked at: {said}"), check=check.name)
        except ValueError as error:
            # A device's answer where a number was expected.
            yield replace(unknown(f"the device's answer makes no sense: {error}"), check=check.name)


def _named(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield replace(finding, check=name)


def record(device: str, instance: str, findings: Sequence[Finding]) -> doctor.Doctor:
    counts = {verdict: sum(each.verdict is verdict for each in findings) for verdict in Verdict}
    return doctor.Doctor(
        device=device,
        instance=instance,
        ok=not counts[Verdict.PROBLEM],
        problems=counts[Verdict.PROBLEM],
        warnings=counts[Verdict.WARNING],
        unknown=counts[Verdict.UNKNOWN],
        findings=[each.record() for each in findings],
    )
