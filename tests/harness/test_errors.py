# SPDX-License-Identifier: Apache-2.0
"""The messages of errors."""

from halyard.errors import CommandTimeout, DeviceError, HalyardError, VmError


def test_a_device_error_says_all_it_knows() -> None:
    error = DeviceError(
        "it failed",
        serial="S1",
        command="run this",
        stdout="first\nsecond\n",
        stderr="complaint",
        exit_code=9,
    )
    assert str(error).splitlines() == [
        "S1: it failed",
        "  command: run this",
        "  exit code: 9",
        "  stdout:",
        "    first",
        "    second",
        "  stderr:",
        "    complaint",
    ]


def test_a_device_error_leaves_out_what_is_not_there() -> None:
    assert str(CommandTimeout("no end", serial="S1")) == "S1: no end"


def test_a_vm_error_ends_with_the_end_of_the_console() -> None:
    error = VmError("it did not boot", console="\n".join(f"line {i}" for i in range(100)))
    lines = str(error).splitlines()
    assert lines[0] == "it did not boot"
    assert lines[-1] == "    line 99"
    assert len(lines) < 30


def test_every_error_of_the_harness_is_one_kind() -> None:
    assert issubclass(DeviceError, HalyardError)
    assert issubclass(VmError, HalyardError)
