# SPDX-License-Identifier: Apache-2.0
"""Properties, and which HAL versions the device's release makes use of."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from halyard.devices.adb_service import registered
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient
from halyard.errors import DeviceError

# The first API level whose runtime asks for each version, newest first.
_SINCE = (
    (34, "AIDL 4"),
    (33, "AIDL 3"),
    (32, "AIDL 2"),
    (31, "AIDL 1"),
    (30, "HIDL 1.3"),
    (29, "HIDL 1.2"),
    (28, "HIDL 1.1"),
    (27, "HIDL 1.0"),
)
_FIRST = 27
_AIDL = 31
# Properties that keep the runtime from drivers where they are set, and to which value. Only
# debuggable runtimes read them.
_STEERING = {
    "debug.nn.cpuonly": ("0", "the runtime computes all by itself and asks no driver"),
    "debug.nn.partition": ("2", "the runtime does not insist on partitioning over drivers"),
    "debug.nn.enabled-devices": ("", "the runtime sees only devices that match"),
}
_HARMLESS = ("debug.nn.vlog", "debug.nn.strict-slicing", "debug.nn.syncexec-runtime")


def release(patient: Patient) -> Iterator[Finding]:
    if patient.sdk is None:
        yield unknown("ro.build.version.sdk is not set", "this is no Android")
        return
    if patient.sdk < _FIRST:
        yield problem(
            f"{patient.release} has no NNAPI, which came with Android 8.1 (API 27)",
            "take a newer device",
        )
        return
    newest = next(name for sdk, name in _SINCE if patient.sdk >= sdk)
    yield ok(f"{patient.release}, whose newest HAL of NNAPI is {newest}")
    services = patient.services
    if isinstance(services, DeviceError):
        return
    names = registered(services, patient.instance)
    has_aidl = any("@" not in name for name in names)
    deploy = f"halyard deploy --device {shlex.quote(patient.name)}"
    if names and patient.sdk >= _AIDL and not has_aidl:
        yield warning(
            f"the driver is on HIDL alone, and {patient.release} has {newest}",
            "what came after Android 11 can't be reached: serve AIDL as well",
            f"{deploy} --wires aidl",
        )
    if names and patient.sdk < _AIDL and has_aidl and all("@" not in name for name in names):
        yield problem(
            f"the driver is on AIDL alone, and {patient.release} asks for HIDL",
            "serve HIDL",
            f"{deploy} --wires hidl",
        )


def properties(patient: Patient) -> Iterator[Finding]:
    if not patient.properties:
        yield unknown("getprop tells nothing")
        return
    told = False
    for name, value in sorted(patient.properties.items()):
        if not name.startswith(("ro.nnapi.", "debug.nn.", "persist.device_config.nnapi")):
            continue
        told = True
        if name in _STEERING and value not in ("", _STEERING[name][0]):
            yield warning(
                f"{name} is {value}: {_STEERING[name][1]}",
                "where that is not meant, take it back",
                patient.typed(f"setprop {name} {_STEERING[name][0] or repr('')}"),
            )
        elif name in _HARMLESS and value not in ("", "0"):
            yield ok(f"{name} is {value}")
        else:
            yield ok(f"{name}={value}")
    if not told:
        yield ok("none of ro.nnapi.* and debug.nn.* is set")
