# SPDX-License-Identifier: Apache-2.0
"""Backends: what the service computes with, and the libraries and instructions for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from halyard.doctor import init_script, places
from halyard.doctor.finding import Finding, ok, unknown, warning
from halyard.doctor.patient import Patient, option
from halyard.errors import DeviceError
from halyard.programs import native

# The features that CpuAcc has kernels for, best first: flags of /proc/cpuinfo.
_FEATURES = (
    ("i8mm", "int8 matrices (i8mm)"),
    ("asimddp", "int8 dot products (dotprod)"),
    ("asimdhp", "float16 arithmetic"),
    ("asimd", "NEON"),
    ("avx512_vnni", "AVX-512 VNNI"),
    ("avx512f", "AVX-512"),
    ("avx2", "AVX2"),
    ("sse4_1", "SSE4.1"),
)
# The least that a vector unit has.
_LEAST = {"asimd", "sse4_1"}
_DEFAULT = "CpuAcc"


def backends(patient: Patient) -> Iterator[Finding]:
    yield _processor(patient)
    yield from _of_service(patient, wanted(patient))


def _processor(patient: Patient) -> Finding:
    said = patient.said("grep -m 1 -iE '^(flags|features)' /proc/cpuinfo").split()
    found = [words for flag, words in _FEATURES if flag in said]
    if not said:
        return unknown("/proc/cpuinfo names no features")
    if not _LEAST & set(said):
        return warning(
            "the processor has no vector unit that CpuAcc has kernels for",
            "the portable ones are slow: see what the processor has",
            patient.typed("cat /proc/cpuinfo")
            if patient.device.has_binder
            else "cat /proc/cpuinfo",
        )
    return ok(f"CpuAcc may use {', '.join(found)}")


def wanted(patient: Patient) -> str:
    """The backends that the service is, or would be, started with."""
    lines = [each.words for each in patient.own_processes]
    lines += [
        service.words
        for script in patient.scripts
        for service in init_script.parse(script.text).services
        if places.PROGRAM_MARK in service.program
    ]
    for words in lines:
        return option(words, "-c", "--compute") or _DEFAULT
    return _DEFAULT


def _of_service(patient: Patient, names: str) -> Iterator[Finding]:
    """The service's account of itself through binder."""
    if not patient.own_processes:
        yield ok(f"backends that it would be started with: {names}")
        return
    try:
        runner = patient.device.put_program(native.RUNNER)
    except DeviceError as error:
        yield unknown(f"the runner can't be put there: {error.message}")
        return
    for wire in ("aidl", "hidl"):
        target = shlex.quote(f"{wire}:{patient.instance}")
        said = patient.device.shell(f"{runner} --target {target} --report", timeout=20)
        if said.exit_code == 0:
            lines = [line.split("\t") for line in said.stdout.splitlines()]
            own = [words[1] for words in lines if words[0] == "backend" and len(words) > 1]
            yield ok(f"the service answers on {wire}, and computes with {', '.join(own) or names}")
            return
    yield unknown(
        "the service does not answer when asked for its state",
        "see its log",
        f"halyard log --device {shlex.quote(patient.name)}",
    )
