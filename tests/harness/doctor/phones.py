# SPDX-License-Identifier: Apache-2.0
"""What lies on the phone that halyard doctor is tried on, and what it says of it."""

import struct

from halyard.doctor import places
from halyard.doctor.checks import checks_for
from halyard.doctor.examination import checked
from halyard.doctor.finding import Finding
from halyard.doctor.patient import Patient
from halyard.programs import native
from tests.harness.fake_phone import FakePhone

PROGRAM = f"{places.PROGRAM_FOLDER}/{native.AIDL_SERVICE}"
SCRIPT = f"{places.SCRIPT_FOLDER}/{native.AIDL_SERVICE}.rc"
FRAGMENT = f"{places.FRAGMENT_FOLDER}/{native.AIDL_SERVICE}.xml"
NAME = "neuralnetworks_hal_service_halyard_aidl"
REGISTERED = [
    *(f"android.hardware.neuralnetworks@1.{n}::IDevice/halyard-default" for n in range(4)),
    "android.hardware.neuralnetworks.IDevice/halyard-default",
]


def elf(machine: int, *, loader: str = "", alignment: int = 0x4000) -> bytes:
    """The headers of a 64-bit program with a segment to load, and the name of its loader."""
    interpreter = loader.encode() + b"\0" if loader else b""
    count = 2 if loader else 1
    end = 64 + 56 * count
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, machine, 1)
    head += struct.pack("<QQQIHHHHHH", 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, end, end, alignment)
    named = struct.pack("<IIQQQQQQ", 3, 4, end, end, end, len(interpreter), len(interpreter), 1)
    return head + (named if loader else b"") + load + interpreter


def stat(ticks: int) -> str:
    return f"812 (a b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 9 0 {ticks} 0 0\n"


def serve(phone: FakePhone, *arguments: str) -> None:
    words = [PROGRAM, "-c", "CpuAcc", "-n", "halyard-default", *arguments]
    phone.file("/proc/812/cmdline", "\0".join(words) + "\0")
    phone.file("/proc/812/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")
    phone.file("/proc/812/stat", stat(1000))
    phone.file("/proc/812/limits", "Max open files            32768   32768   files\n")
    phone.file("/proc/812/attr/current", "u:r:hal_neuralnetworks_halyard:s0")


def end(phone: FakePhone) -> None:
    phone.path("/proc/812/cmdline").write_text("")
    phone.registers("android.hidl.manager@1.0::IServiceManager/default")


def found(
    phone: FakePhone, *names: str, verdicts: str = "warning problem unknown"
) -> list[Finding]:
    """What these checks say, of what is not as it should be."""
    patient = Patient(phone, "PHONE7", "halyard-default")
    checks = [each for each in checks_for(patient) if each.name in names or not names]
    return [each for each in checked(patient, checks) if each.verdict.value in verdicts.split()]


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]
