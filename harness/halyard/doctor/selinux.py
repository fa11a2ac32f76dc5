# SPDX-License-Identifier: Apache-2.0
"""SELinux: what it has denied our domain, and the lines of policy that would allow it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from halyard.doctor import places, program
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient

_DENIAL = re.compile(
    r"avc: +denied +\{ (?P<permissions>[^}]+) \} for (?P<of>.*?)"
    r"scontext=u:r:(?P<source>\w+):\S+ tcontext=u:(?:r|object_r):(?P<target>\w+):\S+ "
    r"tclass=(?P<kind>\w+)(?: permissive=(?P<permissive>[01]))?"
)
_GPU = ("gpu_device", "dri_device")


@dataclass(frozen=True)
class Denial:
    source: str
    target: str
    kind: str  # of object: chr_file, binder, ...
    permissions: frozenset[str]
    of: str  # whose, and on what: pid, comm, path
    permissive: bool

    def rule(self) -> str:
        """The line of policy that allows it."""
        target = "self" if self.target == self.source else self.target
        words = " ".join(sorted(self.permissions))
        granted = words if len(self.permissions) == 1 else f"{{ {words} }}"
        return f"allow {self.source} {target}:{self.kind} {granted};"


def denials(log: str) -> list[Denial]:
    """Of what touches an NNAPI driver: one of each kind, with all that was denied."""
    found: dict[tuple[str, str, str], Denial] = {}
    for each in _DENIAL.finditer(log):
        if not _is_ours(each):
            continue
        key = each["source"], each["target"], each["kind"]
        before = found[key].permissions if key in found else frozenset()
        found[key] = Denial(
            *key,
            permissions=before | frozenset(each["permissions"].split()),
            of=each["of"].strip(),
            permissive=each["permissive"] == "1",
        )
    return list(found.values())


def _is_ours(each: re.Match[str]) -> bool:
    marked = f"{each['source']} {each['target']} {each['of']}"
    return "neuralnetworks" in marked or "halyard" in marked


def selinux(patient: Patient) -> Iterator[Finding]:
    mode = patient.said("getenforce 2>/dev/null") or _mode(
        patient.said("cat /sys/fs/selinux/enforce 2>/dev/null")
    )
    if not mode:
        yield ok("this kernel has no SELinux")
        return
    enforcing = mode == "Enforcing"
    yield ok(f"SELinux is {mode.lower()}")
    yield from _labels(patient, enforcing=enforcing)
    log = (
        patient.kernel_log
        + patient.shell(
            "logcat -d -b main,events,crash 2>/dev/null | grep 'avc:' | tail -n 1000"
        ).stdout
    )
    found = denials(log)
    for denial in found:
        words = ", ".join(sorted(denial.permissions))
        seen = (
            f"{'permitted for now' if denial.permissive else 'denied'}: {denial.source} may not "
            f"{words} {denial.kind} of {denial.target} ({denial.of})"
        )
        where = (
            "device-configs/sepolicy_gpu, whose" if denial.target in _GPU else "the policy, whose"
        )
        fix = f"the device's policy lacks a line ({where} place it is): {denial.rule()}"
        command = _live(patient, denial)
        yield (warning if denial.permissive else problem)(seen, fix, command)
    if not found:
        if log.strip():
            yield ok("no denial of a driver in the kernel's log and logcat")
        else:
            yield unknown("neither dmesg nor logcat can be read", "have root", "adb root")


def _live(patient: Patient, denial: Denial) -> str:
    """Where Magisk is, policy can be added while the device runs."""
    if patient.said("command -v magiskpolicy"):
        return patient.typed(f'magiskpolicy --live "{denial.rule().removesuffix(";")}"')
    return patient.typed("setenforce 0") + "    # all of SELinux off, until the next boot"


def _mode(word: str) -> str:
    return {"1": "Enforcing", "0": "Permissive"}.get(word, "")


def _labels(patient: Patient, *, enforcing: bool) -> Iterator[Finding]:
    for path in program.paths(patient):
        if not path.startswith("/vendor/"):
            continue
        words = patient.said(f"ls -LZ {shlex.quote(path)}").split()
        label = next((word for word in words if re.match(r"u:\w+:", word)), "")
        if label == places.EXECUTABLE_LABEL:
            yield ok(f"{path} is labelled {label}")
        elif label:
            yield (problem if enforcing else warning)(
                f"{path} is labelled {label}, so that init gives its process no domain of its own",
                f"label it; that needs a policy with {places.DOMAIN} (device-configs/sepolicy)",
                patient.typed(f"chcon {places.EXECUTABLE_LABEL} {shlex.quote(path)}"),
            )
        else:
            yield unknown(f"no label of {path} can be read")
    for process in patient.own_processes:
        domain = patient.said(f"cat /proc/{process.pid}/attr/current").strip("\0")
        if domain:
            yield ok(f"process {process.pid} runs as {domain}")
