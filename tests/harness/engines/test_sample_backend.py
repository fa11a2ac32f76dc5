# SPDX-License-Identifier: Apache-2.0
"""The golden cases of what the sample backend runs, with it in front of CpuRef. It is a library
that knows nothing of the engine but a C header."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from halyard.cases import Case
from halyard.conformance.suite import SECONDS_PER_CASE
from halyard.devices.host import HostDevice
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.harness.own_backends import own_backends

_NAME = "Sample"
_OPERATIONS = {pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL, pb.OPERATION_TYPE_RELU}


@pytest.fixture
def runner_with_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner that is found gives the sample its turn first."""
    built = native.folder()
    folder = own_backends("sample", tmp_path)
    words = [str(built / native.RUNNER), "--backend-dir", str(folder), "-c", _NAME]
    script = tmp_path / native.RUNNER
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))


def runs(cases: Sequence[Case]) -> list[pb.CaseResult]:
    with HostDevice() as device:
        return run_cases(
            device,
            [case.test_case for case in cases],
            pb.RunOptions(timeout_s=SECONDS_PER_CASE),
            Target.in_process(),
        )


@pytest.mark.usefixtures("runner_with_sample")
def test_golden_cases_pass_on_the_sample(golden_cases: list[Case]) -> None:
    cases = [
        case
        for case in golden_cases
        if _OPERATIONS & {operation.type for operation in case.test_case.model.main.operations}
    ]
    assert len(cases) > 20
    taken: dict[str, int] = {}
    wrong = {}
    for case, result in zip(cases, runs(cases), strict=True):
        verdict = case.check(result)
        if not verdict.passed:
            wrong[case.name] = verdict
        for row in result.placement:
            if row.backend == _NAME:
                taken[row.node] = taken.get(row.node, 0) + 1
            elif row.node == "Binary":
                assert row.refusals[0].backend == _NAME
                assert row.refusals[0].reason
    assert not wrong
    assert set(taken) == {"Binary", "Activate"}
    assert sum(taken.values()) >= 10
