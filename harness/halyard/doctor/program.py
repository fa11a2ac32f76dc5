# SPDX-License-Identifier: Apache-2.0
"""The service's program: is it there, for this processor, and does it start?"""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Iterator
from functools import cache

from halyard.doctor import init_script, places
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient, signal_name
from halyard.errors import CommandFailed
from halyard.programs import native
from halyard.programs.linkage import HEAD_BYTES, Linkage, linkage

# e_machine of the ELF header, and what kernels call such processors.
_MACHINES = {3: "i686", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_ABIS = {
    "i686": "x86",
    "armv7l": "armeabi-v7a",
    "x86_64": "x86_64",
    "aarch64": "arm64-v8a",
    "riscv64": "riscv64",
}
_HEADER = 20
# KernelPageSize:  16 kB
_PAGE_WORDS = 3
_CANNOT_EXECUTE = 126
_NOT_FOUND = 127
# To which shells add the number of the signal that ended a program.
_SIGNALLED = 128


def paths(patient: Patient) -> list[str]:
    """Programs that are there: what runs, what scripts start, and where they usually lie."""
    of_scripts = [
        service.program
        for script in patient.scripts
        for service in init_script.parse(script.text).services
        if places.PROGRAM_MARK in service.program
    ]
    wanted = [each.program for each in patient.own_processes] + of_scripts + [*places.PROGRAMS]
    unique = list(dict.fromkeys(path for path in wanted if path.startswith("/")))
    names = " ".join(map(shlex.quote, unique))
    there = patient.said(f"for f in {names}; do [ -e $f ] && echo $f; done").splitlines()
    return [path for path in unique if path in there]


def program(patient: Patient) -> Iterator[Finding]:
    """Of each: its mode, which processors it is for, and how large pages may be."""
    found = paths(patient)
    if not found:
        yield problem(
            f"no program of a service lies in {places.PROGRAM_FOLDER} or below /data/local",
            "put it there",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    # One program may have two names.
    targets: dict[str, str] = {}
    for path in found:
        target = patient.said(f"readlink -f {shlex.quote(path)}") or path
        if target not in targets:
            targets[target] = path
            yield _of(patient, path)
            yield from _pages(patient, path)


def _of(patient: Patient, path: str) -> Finding:
    quoted = shlex.quote(path)
    mode = patient.said(f"stat -L -c %a {quoted}")
    if not mode or not int(mode, 8) & 0o111:
        return problem(
            f"{path} can't be executed (mode {mode or 'not known'})",
            "make it executable",
            patient.typed(f"chmod 755 {quoted}"),
        )
    try:
        head = patient.root.exec(f"head -c {_HEADER} {quoted}")
    except CommandFailed as error:
        return unknown(f"{path} can't be read: {error.stderr.strip() or error.message}")
    made_for = _machine(head)
    if made_for is None:
        return problem(
            f"{path} is no ELF program: it begins with {head[:4]!r}",
            "push it again",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    here = patient.said("uname -m")
    if not _runs(made_for, here, patient):
        return problem(
            f"{path} is for {made_for}, and this device is {here} "
            f"({patient.properties.get('ro.product.cpu.abilist') or _ABIS.get(here, '')})",
            f"build it for this processor ({_build(here)}) and push that",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    return ok(f"{path}, {'64' if head[4] == 2 else '32'} bit, for {made_for}, mode {mode}")


def _build(machine: str) -> str:
    return "make arm64" if machine == "aarch64" else "make programs"


def _machine(head: bytes) -> str | None:
    """The machine that an ELF file is for; None: it is no ELF file."""
    if len(head) < _HEADER or head[:4] != b"\x7fELF":
        return None
    order = ">" if head[5] == 2 else "<"
    (number,) = struct.unpack_from(f"{order}H", head, 18)
    return _MACHINES.get(number, f"a machine of number {number}")


def _runs(made_for: str, here: str, patient: Patient) -> bool:
    if made_for == here:
        return True
    abis = patient.properties.get("ro.product.cpu.abilist", "").split(",")
    return _ABIS.get(made_for, "") in abis


# ---- the linker ---------------------------------------------------------------------------------


def linker(patient: Patient) -> Iterator[Finding]:
    """Has each program print its help: the loader has found all that it needs then."""
    seen: set[str] = set()
    for path in paths(patient):
        target = patient.said(f"readlink -f {shlex.quote(path)}") or path
        if target not in seen:
            seen.add(target)
            yield _linked(patient, path)


def _linked(patient: Patient, path: str) -> Finding:
    # Where others can put a program, root does not run it.
    shell = patient.shell if path.startswith(places.OF_ROOT) else patient.device.shell
    done = shell(f"{shlex.quote(path)} -h", timeout=20)
    said = f"{done.stderr}\n{done.stdout}"
    if done.exit_code == 0:
        return ok(f"{path} starts, {_linkage(patient, path)}")
    library = re.search(r'library "([^"]+)" not found|libraries: (\S+): cannot open', said)
    if library:
        name = library[1] or library[2]
        return problem(
            f"{path} needs {name}, which the loader does not find",
            "push a program that is linked statically (make arm64 makes one) or against bionic "
            "alone (make android), or the library into /vendor/lib64",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    symbol = re.search(r"cannot locate symbol \S+|undefined symbol: \S+", said)
    if symbol:
        return problem(
            f"{path}: {symbol[0]}",
            "it was built against newer libraries than this device has: make android builds for "
            "API 30 and later; or link it statically (make arm64)",
        )
    first = next((line for line in said.splitlines() if line.strip()), "it says nothing")
    if done.exit_code in (_CANNOT_EXECUTE, _NOT_FOUND):
        return problem(
            f"{path} does not start: {first.strip()}",
            "its mode, its processor or its loader is wrong: what the check `program` says of it "
            "comes first; then push a static program",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    if done.exit_code > _SIGNALLED:
        number = done.exit_code - _SIGNALLED
        return problem(
            f"{path} does not start: it ends with signal {number} ({signal_name(number)})",
            "the file is damaged, or made for another processor of this kind: push it again",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    return warning(
        f"{path} -h ends with exit code {done.exit_code}: {first.strip()}",
        "see what it says",
        patient.typed(f"{shlex.quote(path)} -h"),
    )


def linkage_of(patient: Patient, path: str) -> Linkage | None:
    """Which kind of build it is; None: it is no ELF program, or can't be read."""
    try:
        return linkage(patient.root.exec(f"head -c {HEAD_BYTES} {shlex.quote(path)}"))
    except CommandFailed:
        return None


def _pages(patient: Patient, path: str) -> Iterator[Finding]:
    """Segments have to begin where pages do."""
    found = linkage_of(patient, path)
    said = patient.said("grep -m 1 KernelPageSize /proc/self/smaps").split()
    if found is None or not found.alignment or len(said) < _PAGE_WORDS or not said[1].isdigit():
        return
    page = int(said[1]) * 1024
    if found.alignment < page:
        yield problem(
            f"the segments of {path} are aligned to {found.alignment} bytes, and this kernel's "
            f"pages have {page}: it does not start",
            "build it anew, by this version's make arm64 or make android, which align to 16384 and "
            "more, and deploy that",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )


def _linkage(patient: Patient, path: str) -> str:
    """Which kind of build it is, and whether it is one of this machine's own."""
    there = patient.said(f"sha256sum {shlex.quote(path)}").split()[:1]
    own = _own_digests(patient.said("uname -m"))
    found = linkage_of(patient, path)
    linked = found.words() if found else "of no kind that is known"
    if not own:
        return linked
    whose = "the program" if there and there[0] in own else "another build than"
    return f"{linked}, {whose} that is built here"


@cache
def _own_digests(machine: str) -> frozenset[str]:
    """Of the programs that are built here for such a machine, of either kind."""
    found = [] if native.lacking(machine) else [native.program(native.SERVICE, machine)]
    bionic = native.bionic_program(native.SERVICE, machine)
    return frozenset(native.digest(path) for path in [*found, *([bionic] if bionic else [])])
