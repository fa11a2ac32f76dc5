# SPDX-License-Identifier: Apache-2.0
"""Which build halyard deploy takes for a device: the static one, or the one against bionic."""

from pathlib import Path

import pytest

from halyard.deploy.deployment import Deployment
from halyard.deploy.payload import service_program
from halyard.errors import HalyardError
from halyard.programs import native
from tests.harness.deployments import lay_programs, phone_at
from tests.harness.doctor.phones import elf
from tests.harness.fake_phone import FakePhone

LINKER = "/system/bin/linker64"
X86_64 = 62


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A static program, and one against bionic."""
    lay_programs(tmp_path, monkeypatch)
    static = tmp_path / "native" / native.SERVICE
    static.write_bytes(elf(X86_64))
    folder = tmp_path / "bionic"
    folder.mkdir()
    monkeypatch.setenv("HALYARD_BIONIC_DIR", str(folder))
    bionic = folder / native.SERVICE
    bionic.write_bytes(elf(X86_64, loader=LINKER))
    return static, bionic


@pytest.fixture
def phone(tmp_path: Path) -> FakePhone:
    phone = phone_at(tmp_path / "phone")
    phone.file(LINKER, "")
    return phone


def deployment(phone: FakePhone) -> Deployment:
    return Deployment(phone, "PHONE7", "halyard-default", lambda _: None)


def test_gpuacc_on_android_gets_the_build_that_can_load_opencl(
    builds: tuple[Path, Path], phone: FakePhone
) -> None:
    static, bionic = builds
    assert deployment(phone).is_android
    gpu = ["GpuAcc:device=0", "CpuAcc"]
    assert service_program("x86_64", gpu, is_android=True) == bionic
    # Which runs nowhere else, and which nothing but GpuAcc needs.
    assert service_program("x86_64", gpu, is_android=False) == static
    assert service_program("x86_64", ["CpuAcc"], is_android=True) == static
    bionic.unlink()
    assert service_program("x86_64", gpu, is_android=True) == static


def test_each_build_is_told_by_its_headers(builds: tuple[Path, Path], phone: FakePhone) -> None:
    static, bionic = builds
    there = deployment(phone)
    assert there.check_program(static) == "static"
    assert there.check_program(bionic) == f"linked against bionic, with the loader {LINKER}"


@pytest.mark.parametrize(
    ("loader", "other"),
    [(LINKER, "make arm64"), ("/vendor/lib/ld-linux.so.1", "make android")],
)
def test_a_build_whose_loader_is_not_there_is_refused(
    builds: tuple[Path, Path], phone: FakePhone, loader: str, other: str
) -> None:
    phone.path(LINKER).unlink()
    _, program = builds
    program.write_bytes(elf(X86_64, loader=loader))
    with pytest.raises(HalyardError, match=f"{loader}, which is not there: .*{other}"):
        deployment(phone).check_program(program)
