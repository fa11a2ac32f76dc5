# SPDX-License-Identifier: Apache-2.0
"""The golden cases of every operation that the driver lists, run on the driver in-process."""

from collections.abc import Iterator

import pytest

from halyard.cases import Case
from halyard.conformance.suite import Way, judge, judge_each, lowest_versions
from halyard.devices.host import HostDevice
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version
from tests.conftest import Bundle

IN_PROCESS = Target.in_process()


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def test_newest_hal(golden_case: str, bundle: Bundle, host: HostDevice) -> None:
    bundle.check(golden_case, lambda cases: judge(host, IN_PROCESS, cases, Way()))


def test_lowest_hal(golden_case: str, bundle: Bundle, host: HostDevice) -> None:
    """Through the lowest HAL version that carries the case."""
    bundle.check(
        golden_case,
        lambda cases: judge_each(
            host,
            IN_PROCESS,
            cases,
            {name: Way(version) for name, version in lowest_versions(cases).items()},
        ),
    )


def test_derived(derived_case: str, bundle: Bundle, host: HostDevice) -> None:
    bundle.check(derived_case, lambda cases: judge(host, IN_PROCESS, cases, Way()))


def test_every_listed_operation_has_golden_cases(
    golden_cases: list[Case], listed_operations: set[str]
) -> None:
    covered = {operation for case in golden_cases for operation in case.operations}
    assert listed_operations - covered == set()


def test_the_lowest_hal_version_is_the_official_one(golden_cases: list[Case]) -> None:
    """Where the official version of a case is only an upper bound (relaxed ones), or does not count
    an argument that its version lacks (a layout, an axis), they may differ. What a case that must
    fail breaks need not be a rule of its model."""
    cases = [case for case in golden_cases if not case.expect_failure]
    models = [case.test_case.model for case in cases]
    lowest = hal_version.lowest_versions(models)
    for case, model, version in zip(cases, models, lowest, strict=True):
        if model.relax_computation_float32_to_float16:
            assert version <= case.hal_version, case.name
        elif not _has_later_argument(model):
            assert version == case.hal_version, case.name


# How many inputs these have without the axis.
_INPUTS_BEFORE_AXIS = {
    pb.OPERATION_TYPE_SOFTMAX: 2,
    pb.OPERATION_TYPE_L2_NORMALIZATION: 1,
    pb.OPERATION_TYPE_LOCAL_RESPONSE_NORMALIZATION: 5,
}


def _has_later_argument(model: pb.Model) -> bool:
    return any(operand.type == pb.OPERAND_TYPE_BOOL for operand in model.main.operands) or any(
        len(operation.inputs) > _INPUTS_BEFORE_AXIS.get(operation.type, len(operation.inputs))
        for operation in model.main.operations
    )
