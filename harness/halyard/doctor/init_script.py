# SPDX-License-Identifier: Apache-2.0
"""The service's .rc file: is it there, and does init take it?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from halyard.doctor import places
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import DeviceFile, Patient

_SECTIONS = ("service", "on", "import")
# Options of a service that init of Android 8 to 15 knows.
_OPTIONS = frozenset(
    {
        "animation",
        "capabilities",
        "class",
        "console",
        "critical",
        "disabled",
        "enter_namespace",
        "file",
        "gentle_kill",
        "group",
        "interface",
        "ioprio",
        "keycodes",
        "memcg.limit_in_bytes",
        "memcg.limit_percent",
        "memcg.limit_property",
        "memcg.soft_limit_in_bytes",
        "memcg.swappiness",
        "namespace",
        "oneshot",
        "onrestart",
        "oom_score_adjust",
        "override",
        "priority",
        "reboot_on_failure",
        "restart_period",
        "rlimit",
        "seclabel",
        "setenv",
        "shared_kallsyms",
        "shutdown",
        "sigstop",
        "socket",
        "stdio_to_kmsg",
        "task_profiles",
        "timeout_period",
        "updatable",
        "user",
        "writepid",
    }
)
# init skips files that others may write.
_INSECURE = 0o022


@dataclass
class ServiceSection:
    """A `service` of a script."""

    name: str
    words: list[str]
    line: int
    options: dict[str, list[list[str]]] = field(default_factory=dict)

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def interfaces(self) -> list[str]:
        """As "interface/name", of both wires."""
        found = []
        for words in self.options.get("interface", []):
            if words[:1] == ["aidl"] and len(words) > 1:
                found.append(words[1])
            elif len(words) > 1:
                found.append(f"{words[0]}/{words[1]}")
        return found


@dataclass(frozen=True)
class MadeFolder:
    """A folder that init makes by `mkdir PATH MODE USER GROUP` when the device boots."""

    path: str
    mode: int
    user: str
    group: str


@dataclass
class Script:
    services: list[ServiceSection] = field(default_factory=list)
    folders: list[MadeFolder] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)  # lines, and what is wrong


def parse(text: str) -> Script:
    """As init reads it; a section with an error is as far as that."""
    script = Script()
    section: ServiceSection | None = None
    in_section = False
    for number, line in _lines(text):
        try:
            words = shlex.split(line, comments=False)
        except ValueError as error:
            script.errors.append((number, str(error)))
            continue
        if words[0] in _SECTIONS:
            in_section, section = True, None
            if words[0] == "service":
                if len(words) < 3:
                    script.errors.append((number, "a service needs a name and a program"))
                    continue
                section = ServiceSection(words[1], words[2:], number)
                if not words[2].startswith("/"):
                    script.errors.append((number, f"{words[2]} is no absolute path"))
                script.services.append(section)
        elif not in_section:
            script.errors.append((number, f"{words[0]!r} stands in no section"))
        elif section is None:
            if words[0] == "mkdir" and len(words) == 5 and re.fullmatch("0?[0-7]{3}", words[2]):
                script.folders.append(MadeFolder(words[1], int(words[2], 8), words[3], words[4]))
        else:
            if words[0] not in _OPTIONS:
                script.errors.append((number, f"{words[0]!r} is no option of a service"))
            section.options.setdefault(words[0], []).append(words[1:])
    return script


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Without comments and empty ones; a backslash at the end joins two."""
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"(^|\s)#.*$", "", line).strip()
        start = start if held else number
        held += bare
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        if held:
            yield start, held
        held = ""
    if held:
        yield start, held


# ---- the check ----------------------------------------------------------------------------------


def script(patient: Patient) -> Iterator[Finding]:
    if not patient.scripts:
        yield problem(
            f"no file in {places.SCRIPT_FOLDER} starts an NNAPI service",
            "push one, and init reads it when the device boots",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    names: dict[str, str] = {}
    for each in patient.scripts:
        found = list(_of(patient, each, names))
        yield from found or [ok(f"{each.path} is as init wants it")]
    for path, error in _complaints(patient.kernel_log):
        if places.PROGRAM_MARK in path:
            yield problem(f"init: {path}: {error}", "mend that line, then boot", "adb reboot")


def _of(patient: Patient, file: DeviceFile, names: dict[str, str]) -> Iterator[Finding]:
    parsed = parse(file.text)
    edit = patient.typed(f"vi {shlex.quote(file.path)}")
    for line, error in parsed.errors:
        yield problem(
            f"{file.path}:{line}: {error}",
            "init leaves the service out: mend that line, or deploy the file again",
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )
    if file.mode & _INSECURE:
        yield problem(
            f"{file.path} may be written by others than its owner (mode {file.mode:o}), so that "
            "init skips it",
            "take that away",
            patient.typed(f"chmod 644 {shlex.quote(file.path)}"),
        )
    for service in parsed.services:
        if service.name in names and names[service.name] != file.path:
            yield problem(
                f"the service {service.name} stands in {names[service.name]} and in {file.path}",
                "init takes the first: remove one of them",
                patient.typed(f"rm {shlex.quote(file.path)}"),
            )
        names.setdefault(service.name, file.path)
        if not patient.said(f"[ -e {shlex.quote(service.program)} ] && echo there"):
            yield problem(
                f"{file.path}:{service.line}: {service.program} is not there",
                "push the program, or mend the line",
                f"halyard deploy --device {shlex.quote(patient.name)}",
            )
        if "class" not in service.options:
            yield warning(
                f"{file.path}:{service.line}: {service.name} has no class",
                "it is of class `default`, which starts late: write `class hal`",
                edit,
            )
        if "user" not in service.options:
            yield warning(
                f"{file.path}:{service.line}: {service.name} names no user, and runs as root",
                "write `user system`",
                edit,
            )
        for user in service.options.get("user", []):
            known = patient.shell(f"id {shlex.quote(''.join(user))} 2>/dev/null").exit_code == 0
            if user and not user[0].isdigit() and not known:
                yield problem(
                    f"{file.path}:{service.line}: there is no user {user[0]}",
                    "write `user system`",
                    edit,
                )
        for option in ("oneshot", "disabled"):
            if option in service.options and not service.options.get("interface"):
                yield warning(
                    f"{file.path}:{service.line}: {service.name} is {option}, and has no interface "
                    "that starts it",
                    "init does not start it (again): take the word away",
                    edit,
                )
        if not service.interfaces:
            yield warning(
                f"{file.path}:{service.line}: {service.name} declares no interface",
                "init can't start it for a client: add a line `interface aidl "
                f"{places.PACKAGE}.IDevice/{patient.instance}`",
                edit,
            )
        yield from _of_init(patient, service, file)


def _of_init(patient: Patient, service: ServiceSection, file: DeviceFile) -> Iterator[Finding]:
    if not patient.has_init:
        yield unknown(f"{service.name}: this device's init reads no .rc files")
        return
    state = patient.properties.get(f"init.svc.{service.name}")
    if state is not None:
        yield ok(f"init knows {service.name}, which is {state}")
    elif file.changed > patient.booted > 0:
        yield problem(
            f"{file.path} came after the boot: init has not read it", "boot again", "adb reboot"
        )
    else:
        yield problem(
            f"init knows no service {service.name}, and {file.path} was there when it started",
            "see what init says of the file",
            patient.typed("dmesg | grep init:"),
        )


def _complaints(kernel_log: str) -> Sequence[tuple[str, str]]:
    """init: /vendor/etc/init/x.rc: 7: invalid option 'foo'"""
    return re.findall(r"init: (/\S+\.rc): (\d+: .+)", kernel_log)
