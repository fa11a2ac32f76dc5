# SPDX-License-Identifier: Apache-2.0
"""The golden cases of every operation that the driver lists, run on the driver.

The cases are not part of this repository: HALYARD_CONFORMANCE names their folder, or they lie in
../shared/conformance beside it.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from halyard import hal_version, native
from halyard.conformance import GoldenCase, Verdict, derived, load
from halyard.devices.host import HostDevice
from halyard.errors import ProgramMissing
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target, run_cases

# Cases that are known not to pass, each with the reason. One that passes has to leave the list.
KNOWN_FAILURES: dict[str, str] = {}

_SECONDS_PER_CASE = 60.0


@pytest.fixture(scope="module")
def golden_cases() -> list[GoldenCase]:
    """The golden cases whose operations the driver lists."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "conformance"
    folder = Path(os.environ.get("HALYARD_CONFORMANCE", beside))
    if not (folder / "index.json").is_file():
        pytest.skip(f"no golden cases in {folder} (HALYARD_CONFORMANCE names another folder)")
    try:
        service = native.program("service")
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    listed = subprocess.run([service, "--list-operations"], capture_output=True, check=True)
    names = {entry["name"] for entry in json.loads(listed.stdout)["operations"]}
    cases = [case for case in load(folder) if case.operations <= names]
    assert names <= {name for case in cases for name in case.operations}
    return cases


def judge(cases: Sequence[GoldenCase], version: pb.HalVersion) -> dict[str, Verdict]:
    """Runs the cases in-process through one HAL version."""
    options = pb.RunOptions(hal_version=version, timeout_s=_SECONDS_PER_CASE)
    with HostDevice() as device:
        results = run_cases(
            device, [case.test_case for case in cases], options, Target.in_process()
        )
    return {case.name: case.check(result) for case, result in zip(cases, results, strict=True)}


def report(
    title: str,
    cases: Sequence[GoldenCase],
    verdicts: dict[str, Verdict],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Prints how many cases of each operation pass, and fails on what is not as expected."""
    total = Counter(name for case in cases for name in case.operations)
    passed = Counter(
        name for case in cases if verdicts[case.name].passed for name in case.operations
    )
    with capsys.disabled():
        good = sum(verdict.passed for verdict in verdicts.values())
        print(f"\n{title}: {good} of {len(cases)} golden cases pass")
        for name in sorted(total):
            print(f"  {name:24} {passed[name]:4} of {total[name]}")
    surprises = [
        f"{name}: {verdict.reason or 'passes, and is listed as a known failure'}"
        for name, verdict in verdicts.items()
        if verdict.passed == (name in KNOWN_FAILURES)
    ]
    assert not surprises, f"{len(surprises)} of {len(cases)}:\n" + "\n".join(surprises)


def test_golden_cases_pass_through_the_newest_hal(
    golden_cases: list[GoldenCase], capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = judge(golden_cases, pb.HAL_VERSION_UNSPECIFIED)
    report("Newest HAL", golden_cases, verdicts, capsys)


@pytest.mark.parametrize("version", hal_version.ALL, ids=hal_version.format)
def test_golden_cases_pass_through_the_lowest_hal_that_carries_them(
    golden_cases: list[GoldenCase], version: pb.HalVersion, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [
        case
        for case in golden_cases
        if max(case.hal_version, hal_version.required(case.test_case.model)) == version
    ]
    report(f"HAL {hal_version.format(version)}", cases, judge(cases, version), capsys)


def test_variants_of_golden_cases_pass(
    golden_cases: list[GoldenCase], capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name for case in golden_cases for name in case.operations}
    variants = [
        variant for case in golden_cases for variant in derived(case) if variant.operations <= known
    ]
    report("Variants", variants, judge(variants, pb.HAL_VERSION_UNSPECIFIED), capsys)


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
