# SPDX-License-Identifier: Apache-2.0
"""The service's process: does it run, does it stay, and what did it say last?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from halyard.devices.device import WORK_FOLDER
from halyard.devices.service_folder import LAST_LOG
from halyard.doctor import init_script, places
from halyard.doctor.finding import Finding, ok, problem, unknown, warning
from halyard.doctor.patient import Patient, signal_name

# Seconds. One that is younger than this on a device that has been up longer has been restarted, or
# just been started.
_YOUNG = 5.0
_CRASHES = 2
_WHY = {
    "SIGILL": "it uses instructions that this processor lacks: --cpu-features portable",
    "SIGKILL": "something killed it; where memory was short, the kernel's log says so",
    "SIGSYS": "a system call is not on the list of --seccomp enforce: start it with --seccomp log "
    "and see the kernel's log",
}


def process(patient: Patient) -> Iterator[Finding]:
    own = patient.own_processes
    for each in own:
        age = _uptime(patient) - each.born
        words = " ".join(each.words)
        yield ok(f"process {each.pid}, of user {each.user}, for {age:.0f} s: {words}")
    if len(own) > 1:
        yield problem(
            f"{len(own)} services want the name {patient.instance}",
            "end all but one",
            patient.typed(f"kill {own[0].pid}"),
        )
    if not own:
        yield _absent(patient)
    yield from _ends(patient)
    yield from _words(patient, alive=bool(own))


def _uptime(patient: Patient) -> float:
    said = patient.said("cat /proc/uptime").split()
    return float(said[0]) if said else 0.0


def _absent(patient: Patient) -> Finding:
    others = sorted({each.instance for each in patient.processes})
    beside = f"; there are services named {', '.join(others)}" if others else ""
    seen = f"no process serves {patient.instance}{beside}"
    names = [
        service.name
        for script in patient.scripts
        for service in init_script.parse(script.text).services
        if f"init.svc.{service.name}" in patient.properties
    ]
    if names:
        states = ", ".join(f"{name} is {patient.properties[f'init.svc.{name}']}" for name in names)
        return problem(f"{seen}; to init {states}", "start it", patient.typed(f"start {names[0]}"))
    return problem(
        seen,
        "start it, and what it lacks is put there",
        f"halyard deploy --device {shlex.quote(patient.name)}",
    )


def _ends(patient: Patient) -> Iterator[Finding]:
    """The known ends of services: by init's words in the kernel's log, and by the exit code that
    the harness keeps."""
    ends = re.findall(
        r"init: Service '([^']*neuralnetworks[^']*)' \(pid \d+\) "
        r"(exited with status \d+|received signal \d+)",
        patient.kernel_log,
    )
    if ends:
        name, last = ends[-1]
        times = sum(1 for each, _ in ends if each == name)
        state = patient.properties.get(f"init.svc.{name}", "")
        told = f"{name} {_told(last)}"
        if times >= _CRASHES or state == "restarting":
            yield problem(
                f"{told}, {times} times since the boot: it crashes as often as init starts it",
                _WHY.get(_name(last), "see what it said"),
                patient.typed("logcat -d -b main,crash -s halyard:* DEBUG:*"),
            )
        else:
            yield warning(
                told,
                _WHY.get(_name(last), "see what it said"),
                patient.typed("logcat -d -s halyard"),
            )
    kept = patient.said(f"cat {places.DEPLOYMENT}/run/exit 2>/dev/null")
    if kept.isdigit() and not patient.own_processes:
        code = int(kept)
        how = f"received signal {code - 128}" if code > 128 else f"exited with status {code}"
        yield problem(
            f"the service that was deployed {_told(how)}",
            _WHY.get(_name(how), "start it again"),
            f"halyard deploy --device {shlex.quote(patient.name)}",
        )


def _name(end: str) -> str:
    number = int(end.split()[-1])
    return signal_name(number) if "signal" in end else ""


def _told(end: str) -> str:
    return f"{end} ({_name(end)})" if "signal" in end else end


def _words(patient: Patient, *, alive: bool) -> Iterator[Finding]:
    """The last error in the service's log."""
    text = patient.said(
        f"cat {places.DEPLOYMENT}/run/log {WORK_FOLDER}/service-*/log 2>/dev/null || "
        "logcat -d -s halyard 2>/dev/null"
    )
    if not text and not alive:
        text = patient.said(f"cat {LAST_LOG} 2>/dev/null")
    if not text:
        yield unknown(
            "no log of a service is there",
            "Android keeps it",
            patient.typed("logcat -d -s halyard"),
        )
        return
    errors = [
        line for line in text.splitlines() if re.search(r"(^|\s)[EF]/halyard| [EF] halyard", line)
    ]
    if errors:
        yield warning(
            f"its log's last error: {errors[-1].strip()}",
            "read all of it",
            f"halyard log --device {shlex.quote(patient.name)}",
        )
    else:
        yield ok(f"{len(text.splitlines())} lines of log, none of an error")
