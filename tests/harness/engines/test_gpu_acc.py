# SPDX-License-Identifier: Apache-2.0
"""The golden cases on GpuAcc, with CpuRef and CpuAcc for what it leaves: on PoCL, OpenCL on the
processor, or on the device that HALYARD_OPENCL_DEVICE names."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from halyard.cases import Case, Verdict
from halyard.conformance.suite import SECONDS_PER_CASE
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.conftest import Bundle
from tests.harness import opencl

Run = Callable[[Sequence[Case]], list[pb.CaseResult]]

# The host's work: most of these go step by step, or find by running how much there is.
_LEFT_TO_THE_HOST = {
    "BoxWithNmsLimit",
    "DetectionPostprocess",
    "GenerateProposals",
    "LshProjection",
    "Quantized16BitLstm",
    "QuantizedLstm",
    "RandomMultinomial",
}


def run_on(backends: Sequence[str], cases: Sequence[Case]) -> list[pb.CaseResult]:
    with HostDevice() as device:
        return run_cases(
            device,
            [case.test_case for case in cases],
            pb.RunOptions(timeout_s=SECONDS_PER_CASE),
            Target.in_process(),
            driver=DriverOptions(backends=tuple(backends)),
        )


@pytest.fixture(scope="module", autouse=True)
def device(golden_cases: list[Case]) -> Iterator[None]:
    with opencl.visible():
        [first] = [case for case in golden_cases if case.name == "add"]
        try:
            [result] = run_on([opencl.BACKEND], [first])
        except HalyardError as error:
            pytest.skip(f"there is no OpenCL device: {error}")
        if {row.backend for row in result.placement} != {"GpuAcc"}:
            pytest.skip("there is no OpenCL device")
        yield


def judge(backends: Sequence[str], cases: Sequence[Case]) -> dict[str, Verdict]:
    results = run_on(backends, cases)
    assert any(row.backend == "GpuAcc" for result in results for row in result.placement)
    # The next backend has the right results, too.
    reasons = [
        refusal.reason for result in results for row in result.placement for refusal in row.refusals
    ]
    assert [reason for reason in reasons if reason.startswith("did not build")] == []
    return {case.name: case.check(result) for case, result in zip(cases, results, strict=True)}


@pytest.mark.sample(150)
def test_before_cpu_ref(any_case: str, bundle: Bundle) -> None:
    bundle.check(any_case, lambda cases: judge([opencl.BACKEND], cases))


@pytest.mark.sample(50)
def test_before_cpu_acc(any_case: str, bundle: Bundle) -> None:
    bundle.check(any_case, lambda cases: judge([opencl.BACKEND, "CpuAcc"], cases))


# Of each operation; with --no-sample, all. What they take to prepare is mostly PoCL's compiling.
_CASES_OF_AN_OPERATION = 4


def some_of_each_operation(cases: Iterable[Case]) -> list[Case]:
    counts: Counter[int] = Counter()
    chosen = []
    for case in cases:
        operations = {operation.type for operation in case.test_case.model.main.operations}
        if any(counts[operation] < _CASES_OF_AN_OPERATION for operation in operations):
            chosen.append(case)
            counts.update(operations)
    return chosen


def test_what_it_leaves_is_named(
    golden_cases: list[Case], pytestconfig: pytest.Config, seed: int
) -> None:
    """Whole kinds of nodes, and of the others those that only a run knows enough of."""
    cases = [case for case in golden_cases if not case.expect_failure]
    if not pytestconfig.getoption("no_sample"):
        random.Random(seed).shuffle(cases)
        cases = some_of_each_operation(cases)
    reasons: dict[str, set[str]] = {}
    for result in run_on([opencl.BACKEND], cases):
        for row in result.placement:
            for refusal in row.refusals:
                if refusal.backend == "GpuAcc":
                    reasons.setdefault(row.node, set()).add(refusal.reason)
    whole = {kind for kind, said in reasons.items() if said == {f"has no kernel for {kind}"}}
    assert whole == _LEFT_TO_THE_HOST
    rest = {reason for kind in reasons.keys() - whole for reason in reasons[kind]}
    pattern = re.compile(
        r"reads no \w+ that only a run tells|pads with no value that only a run tells"
        r"|has no scratch whose size only a run tells"
    )
    assert [reason for reason in rest if not pattern.fullmatch(reason)] == []
