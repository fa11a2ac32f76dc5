# SPDX-License-Identifier: Apache-2.0
"""The golden cases of every operation that the driver lists, run on the driver in-process."""

import subprocess
from collections import Counter
from collections.abc import Sequence

import pytest

from halyard import hal_version, native
from halyard.conformance import GoldenCase
from halyard.devices.host import HostDevice
from halyard.errors import ProgramMissing
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target
from tests.golden_cases import (
    SECONDS_PER_CASE,
    assert_as_expected,
    judge,
    lowest_version,
    passed,
    runnable,
    variants,
)


@pytest.fixture(scope="module")
def golden_cases() -> list[GoldenCase]:
    """The golden cases whose operations the driver lists."""
    try:
        service = native.program("service")
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    listed = subprocess.run(
        [service, "--list-operations"], capture_output=True, check=True, text=True
    )
    return runnable(listed.stdout)


def run(
    title: str,
    cases: Sequence[GoldenCase],
    version: pb.HalVersion,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Runs the cases through one HAL version, prints how many of each operation pass, and fails on
    what is not as expected."""
    options = pb.RunOptions(hal_version=version, timeout_s=SECONDS_PER_CASE)
    with HostDevice() as device:
        verdicts = judge(device, Target.in_process(), cases, options)
    total = Counter(name for case in cases for name in case.operations)
    good = Counter(name for case in cases if verdicts[case.name].passed for name in case.operations)
    with capsys.disabled():
        print(f"\n{title}: {passed(verdicts)}")
        for name in sorted(total):
            print(f"  {name:24} {good[name]:4} of {total[name]}")
    assert_as_expected(verdicts)


def test_golden_cases_pass_through_the_newest_hal(
    golden_cases: list[GoldenCase], capsys: pytest.CaptureFixture[str]
) -> None:
    run("Newest HAL", golden_cases, pb.HAL_VERSION_UNSPECIFIED, capsys)


@pytest.mark.parametrize("version", hal_version.ALL, ids=hal_version.format)
def test_golden_cases_pass_through_the_lowest_hal_that_carries_them(
    golden_cases: list[GoldenCase], version: pb.HalVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [case for case in golden_cases if lowest_version(case) == version]
    run(f"HAL {hal_version.format(version)}", cases, version, capsys)


def test_variants_of_golden_cases_pass(
    golden_cases: list[GoldenCase], capsys: pytest.CaptureFixture[str]
) -> None:
    run("Variants", variants(golden_cases), pb.HAL_VERSION_UNSPECIFIED, capsys)


def test_the_lowest_hal_version_is_the_official_one(golden_cases: list[GoldenCase]) -> None:
    """Where the official version of a case is only an upper bound (relaxed ones), or does not count
    an argument that its version lacks (a layout, an axis), they may differ."""
    for case in golden_cases:
        model = case.test_case.model
        required = hal_version.required(model)
        if model.relax_computation_float32_to_float16:
            assert required <= case.hal_version, case.name
        elif not _has_later_argument(model):
            assert required == case.hal_version, case.name


def _has_later_argument(model: pb.Model) -> bool:
    return any(operand.type == pb.OPERAND_TYPE_BOOL for operand in model.main.operands) or any(
        operation.type == pb.OPERATION_TYPE_SOFTMAX and len(operation.inputs) > 2
        for operation in model.main.operations
    )
