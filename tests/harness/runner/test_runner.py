# SPDX-License-Identifier: Apache-2.0
"""Running cases, with a script that stands for halyard-runner."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import HostDevice
from halyard.errors import DeviceError, HalyardError
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

# One result per case, whose message holds the command line and the options.
RUNNER = f"""#!{sys.executable}
import sys
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
options = pb.RunOptions.FromString(open(value("--options"), "rb").read())
rest = [word for word in words if not word.startswith("/")]
with open(value("--bundle"), "rb") as bundle, open(value("--results"), "wb") as results:
    for index, case in enumerate(protobuf_stream.read(bundle.read(), pb.TestCase)):
        if case.name == "lost":
            continue
        message = " ".join(rest) + f" repeat={{options.repeat}}"
        result = pb.CaseResult(name=case.name, index=index, message=message)
        results.write(protobuf_stream.write([result]))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / native.RUNNER
    path.write_text(RUNNER)
    path.chmod(0o755)
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    return path


@pytest.fixture
def device(program: Path) -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


CASES = [pb.TestCase(name="first"), pb.TestCase(name="second")]


def test_each_case_has_a_result_in_order(device: HostDevice) -> None:
    results = run_cases(device, CASES, pb.RunOptions(repeat=3), Target.in_process())
    assert [result.name for result in results] == ["first", "second"]
    assert "--target in-process" in results[0].message
    assert results[0].message.endswith("repeat=3")


def test_backends_threads_fast_math_and_target_reach_the_runner(device: HostDevice) -> None:
    [result] = run_cases(
        device,
        CASES[:1],
        pb.RunOptions(),
        Target.hidl("some-name"),
        driver=DriverOptions(["CpuAcc", "CpuRef"], threads=3, fast_math=True),
    )
    for words in (
        "--target hidl:some-name",
        "-c CpuAcc,CpuRef",
        "--number-of-threads 3",
        "--enable-fast-math",
    ):
        assert words in result.message


def test_nothing_is_left_on_the_device(device: HostDevice) -> None:
    run_cases(device, CASES, pb.RunOptions(), Target.in_process())
    assert [path for path in device.root.rglob("*") if path.is_file()] == []


def test_nothing_lies_on_this_machine_while_cases_run(
    device: HostDevice, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A harness that is killed then leaves nothing."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    program.write_text(f"#!/bin/sh\nls {folder} >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(DeviceError) as caught:
        run_cases(device, CASES, pb.RunOptions(), Target.in_process())
    assert caught.value.stderr == ""


def test_a_result_that_is_missing_is_an_error(device: HostDevice) -> None:
    with pytest.raises(DeviceError, match="1 results for 2 cases"):
        run_cases(
            device,
            [CASES[0], pb.TestCase(name="lost")],
            pb.RunOptions(),
            Target.in_process(),
        )


@pytest.mark.parametrize(
    ("code", "message"), [(1, "the runner failed"), (2, "can't reach hidl:none"), (139, "failed")]
)
def test_a_runner_that_fails_is_an_error_with_what_it_said(
    device: HostDevice, program: Path, code: int, message: str
) -> None:
    program.write_text(f"#!/bin/sh\necho complaint >&2\nexit {code}\n")
    with pytest.raises(DeviceError, match=message) as caught:
        run_cases(device, CASES, pb.RunOptions(), Target.hidl("none"))
    assert caught.value.exit_code == code
    assert caught.value.stderr == "complaint\n"
    assert [path for path in device.root.rglob("*") if path.is_file()] == []


def test_results_that_make_no_sense_are_an_error(device: HostDevice, program: Path) -> None:
    program.write_text('#!/bin/sh\nprintf "\\377\\377" >"${8}"\n')
    with pytest.raises(HalyardError, match="no message size"):
        run_cases(device, CASES, pb.RunOptions(), Target.in_process())
