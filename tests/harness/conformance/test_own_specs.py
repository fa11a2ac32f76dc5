# SPDX-License-Identifier: Apache-2.0
"""The specs of tests/specs, each with all its cases and the forms derived from them, in-process."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from halyard import specs
from halyard.cases import Case, Verdict, derived
from halyard.conformance.suite import SECONDS_PER_CASE, Way, judge, judge_each, lowest_versions
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.programs import native, operations
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

FOLDER = Path(__file__).parents[2] / "specs"
FILES = [str(path.relative_to(FOLDER)) for path in specs.files(FOLDER)]


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.fixture(scope="module")
def listed() -> set[str]:
    """The operations that the driver has."""
    try:
        program = native.program("service")
    except HalyardError as error:
        pytest.skip(str(error))
    said = subprocess.run([program, "--list-operations"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return {row.name for row in operations.parse(said.stdout)}


def all_cases(file: str) -> list[Case]:
    """Those of a spec, and the forms derived from them."""
    cases = specs.load(FOLDER / file)
    return cases + [form for case in cases for form in derived(case)]


def failures(verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    return {name: verdict.reason for name, verdict in verdicts.items() if not verdict.passed}


@pytest.mark.parametrize("file", FILES)
def test_every_case_passes(file: str, host: HostDevice, listed: set[str]) -> None:
    cases = all_cases(file)
    assert {name for case in cases for name in case.operations} <= listed
    newest = judge(host, Target.in_process(), cases, Way())
    assert failures(newest) == {}
    # A case that must be refused may be valid in no version at all.
    lowest = {
        name: Way(version)
        for name, version in lowest_versions(cases).items()
        if version != pb.HAL_VERSION_UNSPECIFIED
    }
    carried = [case for case in cases if case.name in lowest]
    each = judge_each(host, Target.in_process(), carried, lowest)
    assert failures(each) == {}


@pytest.mark.parametrize("file", FILES)
def test_every_case_passes_on_cpu_ref_alone(file: str, host: HostDevice, listed: set[str]) -> None:
    cases = [case for case in all_cases(file) if case.operations <= listed]
    results = run_cases(
        host,
        [case.test_case for case in cases],
        pb.RunOptions(timeout_s=SECONDS_PER_CASE),
        Target.in_process(),
        driver=DriverOptions(backends=("CpuRef",)),
    )
    verdicts = {case.name: case.check(result) for case, result in zip(cases, results, strict=True)}
    assert failures(verdicts) == {}


def test_no_case_is_of_a_version_that_cannot_carry_it(listed: set[str]) -> None:
    """A spec's folder, or what it says itself, against the driver's own rules."""
    cases = [
        case
        for file in FILES
        for case in specs.load(FOLDER / file)
        if case.operations <= listed and not case.expect_failure
    ]
    said = {case.name: case.hal_version for case in cases}
    assert lowest_versions(cases) == said


def test_names_are_globally_unique() -> None:
    names = [
        each.name
        for file in FILES
        for case in specs.load(FOLDER / file)
        for each in (case, *derived(case))
    ]
    assert len(names) == len(set(names))
