# SPDX-License-Identifier: Apache-2.0
"""halyard deploy on a whole device, and halyard doctor where something was broken on purpose."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import VirtualDevice
from halyard.devices.adb_service import list_services, registered
from halyard.doctor import places
from halyard.doctor.checks import checks_for
from halyard.doctor.examination import checked
from halyard.doctor.finding import Finding, Verdict
from halyard.doctor.patient import Patient
from halyard.programs import native
from tests.waiting import awaited

INSTANCE = "deployed"
PROGRAM = f"{places.PROGRAM_FOLDER}/{native.AIDL_SERVICE}"
SCRIPT = f"{places.SCRIPT_FOLDER}/{native.AIDL_SERVICE}.rc"
FRAGMENT = f"{places.FRAGMENT_FOLDER}/{native.AIDL_SERVICE}.xml"
OWN = "/data/vendor/halyard"
ARM64 = r"\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\267\000"


def command(device: VirtualDevice, *words: str) -> list[str]:
    main = "from halyard.cli.program import main; main()"
    every = (*words, "--device", device.serial, "--instance", INSTANCE)
    return [sys.executable, "-c", main, *every]


def halyard(device: VirtualDevice, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(device, *words), capture_output=True, text=True, env=os.environ, timeout=180
    )


def image(device: VirtualDevice) -> str:
    """All that lies in the vendor image: modes, owners, times, links and digests."""
    return (
        device.shell(
            "find /vendor | sort | while read f; do "
            "if [ -d $f ]; then stat -c '%n %F %a %u' $f; "
            "else stat -c '%n %F %a %u %g %Y %N' $f; sha256sum $f; fi; done"
        )
        .check()
        .stdout
    )


@pytest.fixture(scope="module")
def before(device: VirtualDevice) -> str:
    return image(device)


@pytest.fixture(scope="module")
def deployed(device: VirtualDevice, before: str) -> Iterator[VirtualDevice]:
    done = halyard(device, "deploy")
    assert done.returncode == 0, done.stdout + done.stderr
    yield device
    done = halyard(device, "deploy", "--undo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert image(device) == before
    assert device.shell(f"[ -e {places.DEPLOYMENT} ]").exit_code != 0
    assert device.shell(f"[ -e {OWN} ]").exit_code != 0
    assert registered(list_services(device), INSTANCE) == []


def found(device: VirtualDevice, *names: str) -> list[Finding]:
    """The problems that these checks find."""
    patient = Patient(device, device.serial, INSTANCE)
    checks = [each for each in checks_for(patient) if each.name in names or not names]
    return [each for each in checked(patient, checks) if each.verdict is Verdict.PROBLEM]


# ---- deploying ----------------------------------------------------------------------------------


def test_a_service_that_is_deployed_is_registered_and_outlives_the_command(
    deployed: VirtualDevice, tmp_path: Path
) -> None:
    assert registered(list_services(deployed), INSTANCE) == [
        f"android.hardware.neuralnetworks.IDevice/{INSTANCE}"
    ]
    done = halyard(deployed, "doctor", "--json", str(tmp_path / "doctor.json"))
    assert done.returncode == 0, done.stdout
    assert "nothing keeps the driver from being there" in done.stdout
    document = json.loads((tmp_path / "doctor.json").read_text())
    assert (document["ok"], document["problems"], document["instance"]) == (True, 0, INSTANCE)


def test_the_service_has_its_key_from_its_first_start_on(deployed: VirtualDevice) -> None:
    said = deployed.shell(f"stat -c '%a %u %g %n' {OWN} {OWN}/*").check().stdout.splitlines()
    # Of root, as which it runs where no init starts it.
    assert said == [f"700 0 0 {OWN}", f"600 0 0 {OWN}/compilation_cache.key"]


def test_deploying_again_leaves_the_process_as_it_is(deployed: VirtualDevice) -> None:
    [process] = Patient(deployed, "vm", INSTANCE).own_processes
    done = halyard(deployed, "deploy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing to do" in done.stdout
    assert Patient(deployed, "vm", INSTANCE).own_processes == [process]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(deployed: VirtualDevice) -> None:
    there = image(deployed)
    done = halyard(deployed, "deploy", "--dry-run", "--wires", "hidl,aidl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"would replace {FRAGMENT}" in done.stdout
    done = halyard(deployed, "deploy", "--undo", "--dry-run")
    assert f"would take back file {FRAGMENT}" in done.stdout
    assert image(deployed) == there


def test_a_deployment_that_is_killed_in_the_middle_is_taken_back_whole(
    deployed: VirtualDevice, before: str
) -> None:
    assert halyard(deployed, "deploy", "--undo").returncode == 0
    assert image(deployed) == before
    with subprocess.Popen(
        command(deployed, "deploy", "--wires", "hidl"), stdout=subprocess.DEVNULL
    ) as deploying:
        deadline = time.monotonic() + 60
        while "file" not in deployed.shell(f"cat {places.DEPLOYMENT}/journal").stdout:
            assert time.monotonic() < deadline, "it changes no file"
        deploying.kill()
    assert deploying.returncode == -9
    assert image(deployed) != before or deployed.shell(f"[ -e {places.DEPLOYMENT} ]").exit_code == 0
    done = halyard(deployed, "deploy", "--undo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert image(deployed) == before
    # And what a killed one has begun is gone on with.
    assert halyard(deployed, "deploy").returncode == 0


# ---- what is broken on purpose ------------------------------------------------------------------


@contextlib.contextmanager
def planted(device: VirtualDevice, fault: str, mend: str) -> Iterator[None]:
    device.shell(fault).check()
    try:
        yield
    finally:
        device.shell(mend).check()


@pytest.mark.parametrize(
    ("fault", "mend", "check", "words", "fix"),
    [
        (
            f"mv {FRAGMENT} /data/kept",
            f"mv /data/kept {FRAGMENT}",
            "manifest",
            "no VINTF fragment of NNAPI",
            "halyard deploy",
        ),
        (
            f"cp -a {FRAGMENT} /data/kept; sed -i 's/<fqname>/<fqnam>/' {FRAGMENT}",
            f"mv /data/kept {FRAGMENT}",
            "manifest",
            "mismatched tag: line",
            "halyard deploy",
        ),
        (
            f"chmod 644 {PROGRAM}",
            f"chmod 755 {PROGRAM}",
            "program",
            "can't be executed (mode 644)",
            f"chmod 755 {PROGRAM}",
        ),
        (
            f"mv {PROGRAM} /data/kept; printf '{ARM64}' >{PROGRAM}; chmod 755 {PROGRAM}",
            f"mv /data/kept {PROGRAM}",
            "program",
            "is for aarch64, and this device is x86_64",
            "halyard deploy",
        ),
        (
            f"mv {PROGRAM} /data/kept; head -c 5000 /data/kept >{PROGRAM}; chmod 755 {PROGRAM}",
            f"mv /data/kept {PROGRAM}",
            "linker",
            "does not start: it ends with signal",
            "halyard deploy",
        ),
        (
            "chmod 600 /dev/binder",
            "chmod 666 /dev/binder",
            "binder",
            "/dev/binder is of mode 600",
            "chmod 666 /dev/binder",
        ),
        (
            f"cp -a {SCRIPT} /data/kept; sed -i 's/^service/servic/' {SCRIPT}",
            f"mv /data/kept {SCRIPT}",
            "init script",
            "stands in no section",
            "halyard deploy",
        ),
        (
            f"chmod 666 {SCRIPT}",
            f"chmod 644 {SCRIPT}",
            "init script",
            "init skips it",
            f"chmod 644 {SCRIPT}",
        ),
        (
            "mv /lib/x86_64-linux-gnu/libm.so.6 /data/kept",
            "mv /data/kept /lib/x86_64-linux-gnu/libm.so.6",
            "linker",
            "needs libm.so.6, which the loader does not find",
            "halyard deploy",
        ),
    ],
    ids=lambda value: value[:40] if "/" in str(value) else None,
)
def test_doctor_names_what_is_broken(
    deployed: VirtualDevice, fault: str, mend: str, check: str, words: str, fix: str
) -> None:
    # A name is a link to the program.
    real = deployed.shell(f"readlink -f {PROGRAM}").stdout.strip()
    fault, mend = fault.replace(PROGRAM, real), mend.replace(PROGRAM, real)
    assert found(deployed, check) == []
    with planted(deployed, fault, mend):
        findings = found(deployed, check)
        assert findings, check
        assert words in findings[0].seen
        assert fix.replace(PROGRAM, real) in findings[0].command.replace(PROGRAM, real)
    assert found(deployed, check) == []


def test_doctor_names_a_service_that_was_killed_and_its_signal(deployed: VirtualDevice) -> None:
    [process] = Patient(deployed, "vm", INSTANCE).own_processes
    deployed.shell(f"kill -9 {process.pid}").check()
    # Once init has told of it, and the manager has heard of it.
    end = time.monotonic() + 60
    while len(seen := [finding.seen for finding in found(deployed, "process", "registration")]) < 3:
        assert time.monotonic() < end, seen
    assert f"no process serves {INSTANCE}" in seen[0]
    assert "the service that was deployed received signal 9 (SIGKILL)" in seen[1]
    assert "declared and not registered" in seen[2]
    assert halyard(deployed, "deploy").returncode == 0
    assert found(deployed, "process", "registration") == []


def test_doctor_names_a_manager_that_does_not_run(deployed: VirtualDevice) -> None:
    name = "servicemanager"
    gone = f"while pidof {name}; do sleep 0.05; done"
    stop = f"mv /system/bin/{name} /data/kept; kill $(pidof {name}); {gone}"
    start = f"mv /data/kept /system/bin/{name}"
    with planted(deployed, stop, start):
        assert "servicemanager does not run" in found(deployed, "managers")[0].seen
    awaited(lambda: not found(deployed, "managers"), "init does not start it again")
    # The service has gone from its list: a new one registers.
    [process] = Patient(deployed, "vm", INSTANCE).own_processes
    deployed.shell(f"kill {process.pid}; while kill -0 {process.pid}; do sleep 0.05; done")
    assert halyard(deployed, "deploy").returncode == 0
    assert found(deployed) == []
