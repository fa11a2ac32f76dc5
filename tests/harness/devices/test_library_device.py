# SPDX-License-Identifier: Apache-2.0
"""NNAPI's C functions on this machine as a device."""

from pathlib import Path

import pytest

from halyard.devices import HostDevice, LibraryDevice, config_of, open_device
from halyard.errors import ConfigError, ProgramMissing
from halyard.programs import native
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target

_NEWEST = pb.HAL_VERSION_UNSPECIFIED

if not (native.folder() / native.LIBRARY).exists():
    pytest.skip("sanitizer and static builds have no library", allow_module_level=True)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A library that is not Halyard's, as far as its path tells."""
    file = tmp_path / "libneuralnetworks.so"
    file.symlink_to(native.library(native.LIBRARY))
    return file


@pytest.mark.parametrize(
    ("name", "file"), [("ndk", native.LIBRARY), ("ndk-sl", native.SUPPORT_LIBRARY)]
)
def test_a_name_alone_is_halyards_own(name: str, file: str) -> None:
    with open_device(name) as device:
        target = Target.within(device)
        assert device.serial == name
        assert target.name == f"{name}:{native.library(file)}"
        assert target.is_library
        words = target.words(DriverOptions(("CpuRef", "CpuAcc"), threads=2), pb.HAL_VERSION_1_2)
        assert words == (
            [
                "HALYARD_NNAPI_DEVICES=in-process -c CpuRef,CpuAcc --number-of-threads 2",
                "HALYARD_NNAPI_FEATURE_LEVEL=3",
            ],
            [],
        )
        assert target.words(DEFAULT, pb.HAL_VERSION_AIDL_4)[0] == ["HALYARD_NNAPI_FEATURE_LEVEL=8"]


def test_another_one_is_told_nothing(other: Path) -> None:
    with open_device(f"ndk:{other}") as device:
        target = Target.within(device)
    assert target.words(DEFAULT, _NEWEST) == ([], [])
    for driver, version in ((DriverOptions(threads=1), _NEWEST), (DEFAULT, pb.HAL_VERSION_1_3)):
        with pytest.raises(ConfigError, match="another vendor's library takes no"):
            target.words(driver, version)


def test_words_that_the_variable_can_not_hold_are_refused() -> None:
    target = Target.within(LibraryDevice("ndk"))
    for word in ("/a folder", "x;y", "it's", 'a"'):
        with pytest.raises(ConfigError, match="HALYARD_NNAPI_DEVICES has no words with"):
            target.words(DriverOptions(more=["--backend-dir", word]), _NEWEST)


def test_this_machine_itself_runs_the_driver_in_the_runner() -> None:
    with HostDevice() as device:
        target = Target.within(device)
    assert target == Target.in_process()
    assert target.words(DriverOptions(threads=3), pb.HAL_VERSION_1_1) == (
        [],
        ["--number-of-threads", "3"],
    )


def test_a_library_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.so: there is no such library"):
        open_device(f"ndk:{tmp_path}/nowhere.so")
    with pytest.raises(ConfigError, match="the library has no name: ndk-sl:FILE"):
        config_of("ndk-sl:")
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    with pytest.raises(ProgramMissing, match=r"libneuralnetworks\.so is missing"):
        open_device("ndk")
