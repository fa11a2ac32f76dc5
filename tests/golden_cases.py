# SPDX-License-Identifier: Apache-2.0
"""Which golden cases a driver has to pass, how they are judged, and which are known to fail.

The cases are not part of this repository: HALYARD_CONFORMANCE names their folder, or they lie in
../shared/conformance beside it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from halyard import hal_version, operations
from halyard.conformance import GoldenCase, Verdict, derived, load
from halyard.devices import Device
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target, run_cases

# Cases that are known not to pass, each with the reason. One that passes has to leave the list.
KNOWN_FAILURES: dict[str, str] = {}

SECONDS_PER_CASE = 60.0


def runnable(listed: str) -> list[GoldenCase]:
    """The cases with no other operations than those listed, as --list-operations prints them.

    Skips the test where there are no golden cases.
    """
    beside = Path(__file__).resolve().parents[2] / "shared" / "conformance"
    folder = Path(os.environ.get("HALYARD_CONFORMANCE", beside))
    if not (folder / "index.json").is_file():
        pytest.skip(f"no golden cases in {folder} (HALYARD_CONFORMANCE names another folder)")
    names = {row.name for row in operations.parse(listed)}
    cases = [case for case in load(folder) if case.operations <= names]
    assert names <= {name for case in cases for name in case.operations}
    return cases


def variants(cases: Sequence[GoldenCase]) -> list[GoldenCase]:
    """What can be derived from the cases without an operation that none of them has."""
    known = {name for case in cases for name in case.operations}
    return [variant for case in cases for variant in derived(case) if variant.operations <= known]


def lowest_version(case: GoldenCase) -> pb.HalVersion:
    return max(case.hal_version, hal_version.required(case.test_case.model))


def judge(
    device: Device, target: Target, cases: Sequence[GoldenCase], options: pb.RunOptions
) -> dict[str, Verdict]:
    """The official check of each case, by its name."""
    results = run_cases(device, [case.test_case for case in cases], options, target)
    assert {result.target for result in results} <= {target.name}
    if options.hal_version != pb.HAL_VERSION_UNSPECIFIED:
        assert {result.hal_version for result in results} <= {options.hal_version}
    return {case.name: case.check(result) for case, result in zip(cases, results, strict=True)}


def passed(verdicts: dict[str, Verdict]) -> str:
    """ "7 of 9 golden cases pass"."""
    good = sum(verdict.passed for verdict in verdicts.values())
    return f"{good} of {len(verdicts)} golden cases pass"


def assert_as_expected(verdicts: dict[str, Verdict]) -> None:
    """All pass but those that are known not to."""
    surprises = [
        f"{name}: {verdict.reason or 'passes, and is listed as a known failure'}"
        for name, verdict in verdicts.items()
        if verdict.passed == (name in KNOWN_FAILURES)
    ]
    assert not surprises, f"{len(surprises)} of {len(verdicts)}:\n" + "\n".join(surprises)
