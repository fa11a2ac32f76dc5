# SPDX-License-Identifier: Apache-2.0
"""Needs of all other checks: root, room on the disk, memory, a clock."""

from __future__ import annotations

import time
from collections.abc import Iterator

from halyard.devices.device import WORK_FOLDER
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient

# A service and a runner, and what a run writes.
_ROOM = 64 * 2**20
_LITTLE_ROOM = 16 * 2**20
_MEMORY = 64 * 2**20
# Seconds. Compilation caches, logs and certificates go by the clock.
_CLOCK = 120
_DESCRIPTORS = 1024


def root(patient: Patient) -> Iterator[Finding]:
    if patient.root.is_root:
        yield ok(patient.root.way)
    elif patient.properties.get("ro.debuggable") == "1":
        yield problem(
            "adb's shell is not root, and there is no su",
            "this build lets adbd run as root",
            "adb root",
        )
    else:
        yield problem(
            "adb's shell is not root, there is no su, and this is a user build "
            f"({patient.properties.get('ro.build.type', 'of no type')})",
            "a service registers only as root or from the vendor image: take a userdebug build, an "
            "emulator without Google Play, or root the device",
        )


def disk(patient: Patient) -> Iterator[Finding]:
    """The work folder's, or that of the first folder above it that is there."""
    said = patient.said(
        f"d={WORK_FOLDER}; while [ ! -d $d ]; do d=${{d%/*}}; done; stat -f -c '%a %S' $d"
    )
    fields = said.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        yield unknown(f"stat tells nothing of {WORK_FOLDER}: {said!r}")
        return
    free = int(fields[0]) * int(fields[1])
    seen = f"{free / 2**20:.0f} MiB free where {WORK_FOLDER} lies"
    clean = patient.typed(f"rm -rf {WORK_FOLDER}/run-* {WORK_FOLDER}/service-*.gone")
    if free < _LITTLE_ROOM:
        yield problem(seen, "a service can't keep its log there: make room", clean)
    elif free < _ROOM:
        yield warning(seen, "large models and traces need more: make room", clean)
    else:
        yield ok(seen)


def limits(patient: Patient) -> Iterator[Finding]:
    """Of memory, and of what a process may open: each client's account is a share of these."""
    memory = patient.said("grep MemAvailable /proc/meminfo").split()
    if len(memory) > 1 and memory[1].isdigit():
        free = int(memory[1]) * 1024
        seen = f"{free / 2**20:.0f} MiB of memory available"
        if free < _MEMORY:
            yield warning(seen, "end what takes it; a client may have half of the driver's at most")
        else:
            yield ok(seen)
    else:
        yield unknown("/proc/meminfo tells nothing of the memory available")
    for process in patient.own_processes:
        line = patient.said(f"grep 'Max open files' /proc/{process.pid}/limits")
        words = line.split()
        if len(words) < 4 or not words[3].isdigit():
            continue
        seen = f"the service may open {words[3]} descriptors"
        if int(words[3]) < _DESCRIPTORS:
            yield warning(
                seen,
                "clients' pools, fences and bursts are descriptors: add `rlimit nofile 32768 "
                "32768` to its .rc file",
            )
        else:
            yield ok(seen)


def clock(patient: Patient) -> Iterator[Finding]:
    said = patient.said("date +%s")
    if not said.isdigit():
        yield unknown(f"date says {said!r}")
        return
    off = int(said) - int(time.time())
    seen = f"{abs(off)} s {'ahead of' if off > 0 else 'behind'} this machine's"
    if abs(off) > _CLOCK:
        yield warning(
            seen,
            "times of logs and reports of the two won't fit: set it",
            patient.typed(f"date @{int(time.time())}"),
        )
    else:
        yield ok(seen if off else "this machine's")
