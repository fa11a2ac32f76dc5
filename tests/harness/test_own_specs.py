# SPDX-License-Identifier: Apache-2.0
"""The specs of tests/specs, each with all its cases and the forms derived from them, in-process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard import specs
from halyard.conformance import derived
from halyard.conformance.suite import Way, judge, judge_each, lowest_versions
from halyard.devices.host import HostDevice
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target

FOLDER = Path(__file__).parents[1] / "specs"
FILES = [str(path.relative_to(FOLDER)) for path in specs.files(FOLDER)]


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.mark.parametrize("file", FILES)
def test_every_case_passes(file: str, host: HostDevice, listed_operations: set[str]) -> None:
    cases = specs.load(FOLDER / file)
    cases += [form for case in cases for form in derived(case)]
    lacking = {name for case in cases for name in case.operations} - listed_operations
    if lacking:
        pytest.skip(f"the driver has no {', '.join(sorted(lacking))}")
    newest = judge(host, Target.in_process(), cases, Way())
    assert {name: verdict.reason for name, verdict in newest.items() if not verdict.passed} == {}
    # What must be refused may be valid in no version at all.
    lowest = {
        name: Way(version)
        for name, version in lowest_versions(cases).items()
        if version != pb.HAL_VERSION_UNSPECIFIED
    }
    carried = [case for case in cases if case.name in lowest]
    each = judge_each(host, Target.in_process(), carried, lowest)
    assert {name: verdict.reason for name, verdict in each.items() if not verdict.passed} == {}


def test_the_versions_are_those_that_the_driver_asks_for() -> None:
    """A spec's folder, or what it says itself, against the driver's own rules."""
    cases = [case for file in FILES for case in specs.load(FOLDER / file)]
    for name, version in lowest_versions(cases).items():
        [case] = [case for case in cases if case.name == name]
        relaxed = case.test_case.model.relax_computation_float32_to_float16
        if not (relaxed or case.expect_failure):
            assert version == case.hal_version, name


def test_names_are_globally_unique() -> None:
    names = [
        each.name
        for file in FILES
        for case in specs.load(FOLDER / file)
        for each in (case, *derived(case))
    ]
    assert len(names) == len(set(names))
