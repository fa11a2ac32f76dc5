# SPDX-License-Identifier: Apache-2.0
"""What halyard doctor says of GpuAcc on phones: of the build, of OpenCL and of the GPU's node."""

import pytest

from halyard.doctor import places
from halyard.doctor.finding import Verdict
from tests.harness.doctor.phones import PROGRAM, elf, found, only, serve
from tests.harness.fake_phone import FakePhone

LINKER = "/system/bin/linker64"
NODE = "/dev/kgsl-3d0"
LABEL = "u:object_r:gpu_device:s0"


@pytest.fixture
def gpu_phone(phone: FakePhone) -> FakePhone:
    """A phone whose service has all that GpuAcc needs."""
    serve(phone)
    phone.file("/proc/812/cmdline", f"{PROGRAM}\0-c\0GpuAcc,CpuAcc\0")
    phone.file(PROGRAM, elf(183, loader=LINKER), 0o755)
    phone.file("/vendor/lib64/libOpenCL.so", "")
    phone.file("/vendor/etc/public.libraries.txt", "libOpenCL.so\n")
    phone.file(NODE, "", 0o666)
    labelled(phone, LABEL)
    return phone


def labelled(phone: FakePhone, label: str) -> None:
    """What ls says of the GPU's node; of all else what a well labelled program has."""
    phone.tool(
        "ls", f'case "$2" in *kgsl*) echo {label} $2;; *) echo {places.EXECUTABLE_LABEL} $2;; esac'
    )


def test_a_phone_with_all_that_gpuacc_needs_is_well(gpu_phone: FakePhone) -> None:
    assert found(gpu_phone, "gpu") == []
    said = [each.seen for each in found(gpu_phone, "gpu", verdicts="ok")]
    assert said == ["OpenCL: /vendor/lib64/libOpenCL.so", f"{NODE} is labelled {LABEL}"]


def test_of_a_service_without_gpuacc_nothing_is_asked(phone: FakePhone) -> None:
    phone.file(PROGRAM, elf(183), 0o755)
    assert found(phone, "gpu") == []
    build, library = found(phone, "gpu", verdicts="ok")
    assert "is static: with GpuAcc it would have to be the build of make android" in build.seen
    assert "asks for none" in library.seen


def test_a_static_program_with_gpuacc_is_told_with_the_other_build(gpu_phone: FakePhone) -> None:
    gpu_phone.file(PROGRAM, elf(183), 0o755)
    finding = only(found(gpu_phone, "gpu"))
    assert finding.verdict is Verdict.WARNING
    assert "is static: it can load no OpenCL" in finding.seen
    assert "make android NDK=DIR" in finding.fix
    assert finding.command == "halyard deploy --device PHONE7 --backends GpuAcc,CpuAcc"


def test_gpuacc_without_opencl_is_told(gpu_phone: FakePhone) -> None:
    gpu_phone.path("/vendor/lib64/libOpenCL.so").unlink()
    assert "there is no OpenCL" in only(found(gpu_phone, "gpu")).seen


def test_a_library_of_the_systems_alone_is_not_the_services(gpu_phone: FakePhone) -> None:
    gpu_phone.path("/vendor/lib64/libOpenCL.so").unlink()
    gpu_phone.file("/system/lib64/libOpenCL.so", "")
    finding = only(found(gpu_phone, "gpu"))
    assert "OpenCL lies in /system/lib64/libOpenCL.so alone" in finding.seen
    assert "namespace of vendor processes" in finding.seen
    assert "--work" in finding.command


def test_a_library_that_is_not_public_is_told_of_for_apps(gpu_phone: FakePhone) -> None:
    gpu_phone.file("/vendor/etc/public.libraries.txt", "libother.so\n")
    finding = only(found(gpu_phone, "gpu"))
    assert finding.verdict is Verdict.WARNING
    assert "apps can't load it. The service can" in finding.seen
    assert finding.command.endswith("'echo libOpenCL.so >>/vendor/etc/public.libraries.txt'")


def test_what_the_linker_keeps_away_is_told_with_its_namespace(gpu_phone: FakePhone) -> None:
    line = (
        "11-24 W halyard : GpuAcc: /vendor/lib64/libOpenCL.so: dlopen failed: library "
        '"/system/lib64/libcompiler.so" needed or dlopened by "/vendor/lib64/libOpenCL.so" is not '
        'accessible for the namespace "(default)"\n'
    )
    gpu_phone.says("logcat", line * 3)
    finding = only(found(gpu_phone, "gpu"))
    assert "keeps /system/lib64/libcompiler.so from the service" in finding.seen
    assert "the namespace (default) has no access to it" in finding.seen
    assert "/vendor/lib64 or /odm/lib64" in finding.fix
    assert finding.command.endswith("/linkerconfig/ld.config.txt")


def test_what_opencl_needs_and_lacks_is_named(gpu_phone: FakePhone) -> None:
    gpu_phone.says(
        "logcat",
        '11-24 W halyard : GpuAcc: dlopen failed: library "libgsl.so" not found: needed by '
        "/vendor/lib64/libOpenCL.so in namespace (default)\n",
    )
    finding = only(found(gpu_phone, "gpu"))
    assert finding.seen.startswith("/vendor/lib64/libOpenCL.so needs libgsl.so")
    assert finding.command.endswith("-name libgsl.so")


@pytest.mark.parametrize(
    ("mode", "verdict"), [("Enforcing", Verdict.PROBLEM), ("Permissive", Verdict.WARNING)]
)
def test_a_node_of_another_label_is_told(gpu_phone: FakePhone, mode: str, verdict: Verdict) -> None:
    gpu_phone.says("getenforce", f"{mode}\n")
    labelled(gpu_phone, "u:object_r:device:s0")
    finding = only(found(gpu_phone, "gpu"))
    assert finding.verdict is verdict
    assert "allow hal_neuralnetworks_halyard device:chr_file rw_file_perms;" in finding.fix
    assert finding.command.endswith(f"chcon {LABEL} {NODE}")


def test_a_node_that_system_may_not_open_is_told(gpu_phone: FakePhone) -> None:
    gpu_phone.path(NODE).chmod(0o660)
    finding = only(found(gpu_phone, "gpu"))
    assert "has mode 660" in finding.seen
    assert finding.command.endswith(f"chmod 666 {NODE}")


def test_a_phone_without_a_node_is_told(gpu_phone: FakePhone) -> None:
    gpu_phone.path(NODE).unlink()
    assert "there is no node of a GPU" in only(found(gpu_phone, "gpu")).seen


def test_a_service_in_another_domain_is_told(gpu_phone: FakePhone) -> None:
    gpu_phone.file("/proc/812/attr/current", "u:r:su:s0")
    finding = only(found(gpu_phone, "gpu"))
    assert "process 812 runs as su" in finding.seen
    assert finding.command.endswith(f"chcon {places.EXECUTABLE_LABEL} {PROGRAM}")
