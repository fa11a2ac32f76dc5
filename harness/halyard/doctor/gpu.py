# SPDX-License-Identifier: Apache-2.0
"""GpuAcc: whether the program can load OpenCL, where its library lies, and the GPU's node."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from halyard.doctor import backends, places, program
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient

# In the order in which GpuAcc looks for them.
LIBRARIES = (
    "/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/libPVROCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib64/libGLES_mali.so",
    "/vendor/lib64/libOpenCL_adreno.so",
    "/odm/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/system/lib64/libOpenCL.so",
)
# Those that a process of the vendor's namespace may load.
_VENDOR = ("/vendor/", "/odm/", "/system/vendor/")
_LOADER = "libOpenCL.so"
_PUBLIC = "/vendor/etc/public.libraries.txt"

# Qualcomm's, Arm's, and those of the kernel's graphics drivers.
_NODES = ("/dev/kgsl-3d0", "/dev/mali0", "/dev/dri/renderD128")
_NODE_TYPE = "gpu_device"  # which sepolicy_gpu lets the service open
# What the service itself runs as, unless root started it.
_SYSTEM_USER = 1000
_READ_AND_WRITE = 0o6

_CONTEXT = re.compile(r"u:\w+:(?P<type>\w+):")

# How bionic's linker says that a namespace keeps a library from a process, or that one lacks.
_KEPT_AWAY = re.compile(
    r'library "(?P<library>[^"]+)"[^\n]*?is not accessible for the namespace'
    r'(?: "(?P<space>[^"]*)")?'
)
_LACKING = re.compile(r'library "(?P<library>[^"]+)" not found: needed by (?P<user>\S+)')


def gpu(patient: Patient) -> Iterator[Finding]:
    asked = "GpuAcc" in backends.wanted(patient)
    there = patient.said(f"for f in {' '.join(LIBRARIES)}; do [ -e $f ] && echo $f; done").split()
    yield from _program(patient, asked=asked)
    yield from _libraries(patient, there, asked=asked)
    if patient.device.has_binder and asked:
        yield from _namespaces(patient)
        yield from _nodes(patient)
        yield from _domain(patient)


def _program(patient: Patient, *, asked: bool) -> Iterator[Finding]:
    """A static one can load no library."""
    found = [(path, program.linkage_of(patient, path)) for path in program.paths(patient)[:1]]
    for path, linkage in found:
        if linkage is None or not linkage.is_static:
            continue
        if not asked:
            yield ok(f"{path} is static: with GpuAcc it would have to be the build of make android")
            continue
        yield warning(
            f"the service is started with GpuAcc, and {path} is static: it can load no OpenCL",
            "build it with an NDK (`make android NDK=DIR`) and deploy that, which `halyard deploy` "
            "takes by itself for GpuAcc; or start it with -c CpuAcc",
            f"halyard deploy --device {shlex.quote(patient.name)} --backends GpuAcc,CpuAcc",
        )


def _libraries(patient: Patient, there: list[str], *, asked: bool) -> Iterator[Finding]:
    if not there and asked:
        yield warning(
            "the service is started with GpuAcc, and there is no OpenCL: none of "
            f"{', '.join(LIBRARIES)}",
            "its nodes fall to the next backend: install the GPU vendor's driver, or start it with "
            "-c CpuAcc",
        )
        return
    if not there:
        yield ok("no OpenCL library, and the service asks for none")
        return
    of_vendor = [path for path in there if path.startswith(_VENDOR)]
    if asked and not of_vendor:
        yield warning(
            f"OpenCL lies in {there[0]} alone, which the linker's namespace of vendor processes "
            "does not show the service",
            "have the program below /data, whose processes see it (that is for trying), or the "
            "vendor's own library in /vendor/lib64",
            f"halyard deploy --device {shlex.quote(patient.name)} --work --backends GpuAcc,CpuAcc",
        )
    else:
        yield ok(f"OpenCL: {(of_vendor or there)[0]}")
    public = patient.said(f"cat {_PUBLIC} 2>/dev/null").split()
    if public and of_vendor and _LOADER not in public:
        yield warning(
            f"{_LOADER} is not in {_PUBLIC}: apps can't load it. The service can",
            "apps with GpuAcc inside (libhalyard.so) need the line, which is read at the boot",
            patient.typed(f"'echo {_LOADER} >>{_PUBLIC}'"),
        )


def _namespaces(patient: Patient) -> Iterator[Finding]:
    """The linker's refusals, from the service's log."""
    log = patient.shell("logcat -d -b main 2>/dev/null | grep -E 'halyard|linker' | tail -n 1000")
    for each in dict.fromkeys(_KEPT_AWAY.findall(log.stdout)):
        library, space = each
        where = f"namespace {space}" if space else "namespace of its process"
        yield warning(
            f"the linker keeps {library} from the service: the {where} has no access to it",
            "a library that a vendor's process loads lies in /vendor/lib64 or /odm/lib64, and so "
            "does all that it needs: put it there, or link to what the vendor's image has "
            "(/linkerconfig/ld.config.txt has the namespaces)",
            patient.typed("grep -n namespace.default /linkerconfig/ld.config.txt"),
        )
    for library, user in dict.fromkeys(_LACKING.findall(log.stdout)):
        yield warning(
            f"{user} needs {library}, which the linker does not find",
            "the vendor's image is not whole, or the library is one of the system's that the "
            "vendor's namespace is not linked to",
            patient.typed(f"find /vendor /odm /system /apex -name {shlex.quote(library)}"),
        )


def _nodes(patient: Patient) -> Iterator[Finding]:
    there = patient.said(f"for f in {' '.join(_NODES)}; do [ -e $f ] && echo $f; done").split()
    if not there:
        yield warning(
            f"there is no node of a GPU: none of {', '.join(_NODES)}",
            "the kernel has no driver for it, or it is called otherwise: see what there is",
            patient.typed("ls -lZ /dev /dev/dri"),
        )
    enforced = patient.said("getenforce 2>/dev/null") == "Enforcing"
    for node in there:
        words = patient.said(f"ls -lLZ {node}").split()
        label = next((word for word in words if _CONTEXT.match(word)), "")
        kind = _type_of(label)
        if not label:
            yield unknown(f"no label of {node} can be read")
        elif kind == _NODE_TYPE:
            yield ok(f"{node} is labelled {label}")
        else:
            yield (problem if enforced else warning)(
                f"{node} is labelled {label}: device-configs/sepolicy_gpu lets the service open "
                f"{_NODE_TYPE} alone",
                f"label it so, or have the policy allow {kind} as well: allow {places.DOMAIN} "
                f"{kind}:chr_file rw_file_perms;",
                patient.typed(f"chcon u:object_r:{_NODE_TYPE}:s0 {node}"),
            )
        yield from _mode(patient, node)


def _type_of(context: str) -> str:
    """The type in a context of SELinux: what policy speaks of; empty: it is none."""
    found = _CONTEXT.match(context)
    return found["type"] if found else ""


def _mode(patient: Patient, node: str) -> Iterator[Finding]:
    """Whether the user that init starts the service as may open it."""
    said = patient.said(f"stat -L -c '%a %u %g' {node}")
    found = re.fullmatch(r"([0-7]+) (\d+) (\d+)", said)
    if found is None:
        yield unknown(f"stat tells nothing of {node}: {said!r}")
        return
    mode, user, group = int(found[1], 8), int(found[2]), int(found[3])
    shift = 6 if user == _SYSTEM_USER else 3 if group == _SYSTEM_USER else 0
    if (mode >> shift) & _READ_AND_WRITE != _READ_AND_WRITE:
        yield warning(
            f"{node} has mode {found[1]} and is of user {user}, group {group}: the service, as "
            "system, may not open it",
            "the image's ueventd.rc sets it; until the next boot:",
            patient.typed(f"chmod 666 {node}"),
        )


def _domain(patient: Patient) -> Iterator[Finding]:
    """Policy for the GPU is that of the service's own domain."""
    for process in patient.own_processes:
        domain = _type_of(patient.said(f"cat /proc/{process.pid}/attr/current 2>/dev/null"))
        if domain and domain != places.DOMAIN:
            yield warning(
                f"process {process.pid} runs as {domain}, and device-configs/sepolicy_gpu lets "
                f"{places.DOMAIN} open the GPU",
                "label the program, and start it again",
                patient.typed(f"chcon {places.EXECUTABLE_LABEL} {shlex.quote(process.program)}"),
            )
