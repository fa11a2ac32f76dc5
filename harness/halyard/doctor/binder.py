# SPDX-License-Identifier: Apache-2.0
"""Binder: its devices, and the service managers behind them."""

from __future__ import annotations

from collections.abc import Iterator

from halyard.devices.device import Wire
from halyard.doctor import manifest
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient

NODES = {Wire.HIDL: "/dev/hwbinder", Wire.AIDL: "/dev/binder"}
MANAGERS = {Wire.HIDL: "hwservicemanager", Wire.AIDL: "servicemanager"}
_FOR_ALL = 0o666
# Of a release without HIDL, whose init does not start its manager.
_OFF = "hwservicemanager.disabled"


def wires(patient: Patient) -> list[Wire]:
    """Those that a driver needs here: what the manifest has, or what the release is used to."""
    found = {each.wire for each in manifest.declared(patient)}
    if not found:
        sdk = patient.sdk or manifest.FIRST_WITHOUT_HIDL
        found = {Wire.AIDL if sdk >= manifest.FIRST_AIDL else Wire.HIDL}
    return [wire for wire in Wire if wire in found]


def nodes(patient: Patient) -> Iterator[Finding]:
    for wire in wires(patient):
        node = NODES[wire]
        # A link, as Android has it, leads into binderfs.
        said = patient.said(f"[ -c {node} ] && stat -L -c '%a %U' {node}").split()
        if not said:
            yield problem(
                f"{node} is not there",
                "the kernel needs CONFIG_ANDROID_BINDER_IPC and "
                'CONFIG_ANDROID_BINDER_DEVICES="binder,hwbinder,vndbinder"; as a module, load it',
                patient.typed("modprobe binder_linux devices=binder,hwbinder,vndbinder"),
            )
        elif int(said[0], 8) & _FOR_ALL != _FOR_ALL:
            yield problem(
                f"{node} is of mode {said[0]}, and clients and the service's user have to read and "
                "write it",
                "open it to all; SELinux tells them apart",
                patient.typed(f"chmod 666 {node}"),
            )
        else:
            yield ok(f"{node}, mode {said[0]}, of {said[-1]}")


def managers(patient: Patient) -> Iterator[Finding]:
    for wire in wires(patient):
        name = MANAGERS[wire]
        pids = patient.said(f"pidof {name}").split()
        if pids and all(pid.isdigit() for pid in pids):
            yield ok(f"{name} runs, process {pids[0]}")
        elif wire is Wire.HIDL and patient.properties.get(_OFF) == "true":
            yield problem(
                f"{name} is switched off on this release ({_OFF}), which has no HIDL",
                "serve AIDL alone",
                f"halyard deploy --device {patient.name} --wires aidl",
            )
        else:
            state = patient.properties.get(f"init.svc.{name}", "")
            yield problem(
                f"{name} does not run{f': init has it as {state}' if state else ''}",
                "nothing can register without it: start it, and see the kernel's log for why it "
                "ended",
                patient.typed(f"start {name}")
                if patient.has_init
                else patient.typed(f"/system/etc/init/daemon {name} &"),
            )
        ready = patient.properties.get(f"{name}.ready")
        if ready is not None and ready not in ("true", "1"):
            yield warning(f"{name}.ready is {ready!r}", "wait until it is true, then look again")
    if not patient.properties:
        yield unknown("getprop tells nothing")
