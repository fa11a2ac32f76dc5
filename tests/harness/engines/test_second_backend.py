# SPDX-License-Identifier: Apache-2.0
"""The golden cases with a second backend whose tensors and constants lie in memory that the host
can't touch: alone, in front of CpuRef, and taking every second node. It keeps a state for each
execution; told to, it fails."""

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from halyard.cases import Case, Verdict
from halyard.conformance.suite import SECONDS_PER_CASE
from halyard.devices.host import HostDevice
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.conftest import Bundle

_PROGRAM = "second-backend-runner"
_NAME = "Distant"
_MEMORY = "Far"
# The backend's message when it is told to fail.
_TOLD = "fails because it was told to"

Run = Callable[[Sequence[Case]], list[pb.CaseResult]]


@pytest.fixture
def runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Run]:
    """Runs cases with programs from a folder of that name, whose runner has the second backend."""
    built = native.folder()
    if not (built / _PROGRAM).is_file():
        pytest.skip(f"{_PROGRAM} is not built: make test-native builds it")

    def prepare(name: str) -> Run:
        folder = tmp_path / name
        folder.mkdir()
        (folder / native.RUNNER).symlink_to(built / _PROGRAM)

        def run(cases: Sequence[Case]) -> list[pb.CaseResult]:
            monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
            options = pb.RunOptions(timeout_s=SECONDS_PER_CASE)
            with HostDevice() as device:
                bundle = [case.test_case for case in cases]
                return run_cases(device, bundle, options, Target.in_process())

        return run

    return prepare


def judge(cases: Sequence[Case], run: Run, backends: set[str]) -> dict[str, Verdict]:
    results = run(cases)
    taken = {row.backend for result in results for row in result.placement} - {"planner"}
    assert taken == backends, "these have to take part, and no others"
    assert any(result.copies for result in results)
    for result in results:
        for copy in result.copies:
            assert {copy.source, copy.target} == {"host", _MEMORY}, "one end is the device"
    return {case.name: case.check(result) for case, result in zip(cases, results, strict=True)}


@pytest.mark.sample(400)
def test_device_alone(golden_case: str, bundle: Bundle, runs_on: Callable[[str], Run]) -> None:
    bundle.check(golden_case, lambda cases: judge(cases, runs_on("alone"), {_NAME}))


@pytest.mark.sample(400)
def test_device_before_cpu_ref(
    golden_case: str, bundle: Bundle, runs_on: Callable[[str], Run]
) -> None:
    bundle.check(golden_case, lambda cases: judge(cases, runs_on("foreseen"), {_NAME, "CpuRef"}))


def test_every_second_node_on_a_device(
    golden_case: str, bundle: Bundle, runs_on: Callable[[str], Run]
) -> None:
    bundle.check(golden_case, lambda cases: judge(cases, runs_on("alternating"), {_NAME, "CpuRef"}))


def test_copies_are_told_and_profiled(
    golden_cases: list[Case], runs_on: Callable[[str], Run]
) -> None:
    [case] = [case for case in golden_cases if not case.expect_failure][:1]
    [result] = runs_on("alone")([case])
    assert {copy.source for copy in result.copies} == {"host", _MEMORY}
    assert all(copy.bytes > 0 for copy in result.copies)


def limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cases: Sequence[Case], *words: str
) -> list[pb.CaseResult]:
    """With more options for the runner."""
    built = native.folder()
    if not (built / _PROGRAM).is_file():
        pytest.skip(f"{_PROGRAM} is not built: make test-native builds it")
    script = folder / native.RUNNER
    script.write_text(f'#!/bin/sh\nexec {shlex.join([str(built / _PROGRAM), *words])} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
    with HostDevice() as device:
        bundle = [case.test_case for case in cases]
        options = pb.RunOptions(timeout_s=SECONDS_PER_CASE)
        return run_cases(device, bundle, options, Target.in_process())


def large_cases(golden_cases: Sequence[Case]) -> list[Case]:
    """Those with something to cut."""
    cases = [
        case
        for case in golden_cases
        if len(case.test_case.model.main.operations) > 1 and not case.expect_failure
    ]
    assert len(cases) > 20
    return cases


def partitions_of(result: pb.CaseResult) -> dict[int, list[pb.Placement]]:
    """By their numbers; an IF or WHILE is no backend's."""
    partitions: dict[int, list[pb.Placement]] = {}
    for row in result.placement:
        if row.backend != "planner":
            partitions.setdefault(row.partition, []).append(row)
    return partitions


@pytest.mark.parametrize("most", [1, 2, 3])
def test_results_are_right_in_few_partitions(
    golden_cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    cases = large_cases(golden_cases)
    results = limited(tmp_path, monkeypatch, cases, "--max-partitions", str(most))
    for case, result in zip(cases, results, strict=True):
        assert case.check(result).passed, case.name
        partitions = partitions_of(result)
        nested = len(partitions) < len({row.partition for row in result.placement})
        # The graphs inside an IF or WHILE have a partition each, at least.
        assert nested or len(partitions) <= most, case.name
    if most > 1:
        assert any(row.backend == _NAME for result in results for row in result.placement)


def test_results_are_right_in_large_partitions(
    golden_cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = large_cases(golden_cases)
    results = limited(tmp_path, monkeypatch, cases, "--min-nodes-per-partition", "2")
    fallen = 0
    for case, result in zip(cases, results, strict=True):
        assert case.check(result).passed, case.name
        for rows in partitions_of(result).values():
            assert rows[0].backend == "CpuRef" or len(rows) >= 2, case.name
            fallen += any("fewer than 2" in why.reason for row in rows for why in row.refusals)
    assert fallen > 0


@pytest.mark.parametrize("stage", ["compile", "finish", "specialize"])
def test_what_a_backend_does_not_build_goes_to_the_next_one(
    golden_cases: list[Case], runs_on: Callable[[str], Run], stage: str
) -> None:
    cases = [case for case in golden_cases if not case.expect_failure][::10]
    results = runs_on(f"failing-{stage}")(cases)
    moved = 0
    for case, result in zip(cases, results, strict=True):
        messages = [result.message, *(example.message for example in result.examples)]
        if any(_TOLD in message for message in messages):
            # Shapes that only the request tells are specialised when it is executed, which is too
            # late to go elsewhere.
            assert stage == "specialize", result.message
            assert result.failed_stage == pb.STAGE_EXECUTE
            continue
        assert case.check(result).passed, case.name
        reasons = [refusal.reason for row in result.placement for refusal in row.refusals]
        moved += any(
            reason.startswith("did not build its partition") and _TOLD in reason
            for reason in reasons
        )
    assert moved > len(cases) // 2


@pytest.mark.parametrize("stage", ["pack", "state", "run"])
def test_a_failing_backend_fails_the_case_and_nothing_else(
    golden_cases: list[Case], runs_on: Callable[[str], Run], stage: str
) -> None:
    cases = [case for case in golden_cases if not case.expect_failure][::10]
    results = runs_on(f"failing-{stage}")(cases)
    assert len(results) == len(cases)
    failed_at = pb.STAGE_EXECUTE if stage in ("state", "run") else pb.STAGE_PREPARE
    told = 0
    for result in results:
        assert result.failed_stage not in (pb.STAGE_CRASH, pb.STAGE_HANG), result.message
        messages = [result.message, *(example.message for example in result.examples)]
        told += any(_TOLD in message for message in messages)
        assert result.failed_stage in (pb.STAGE_NONE, failed_at), result.message
    # Models without constants pack nothing.
    assert told > (0 if stage == "pack" else len(cases) // 2)


def test_a_death_in_process_costs_one_case(
    golden_cases: list[Case], runs_on: Callable[[str], Run]
) -> None:
    cases = [case for case in golden_cases if not case.expect_failure][:300:30]
    results = runs_on("failing-death")(cases)
    assert [result.name for result in results] == [case.name for case in cases]
    died = [result for result in results if result.failed_stage == pb.STAGE_CRASH]
    # A model of one operation may have nothing for the backend.
    assert len(died) > len(cases) // 2
    assert all("signal 6" in result.message for result in died)
    assert all("while executing" in result.message for result in died)


def test_a_death_in_closing_is_charged_to_the_last_case_of_its_process(
    golden_cases: list[Case], runs_on: Callable[[str], Run]
) -> None:
    cases = [case for case in golden_cases if not case.expect_failure][:300:10]
    results = runs_on("failing-close")(cases)
    died = [result for result in results if result.failed_stage == pb.STAGE_CRASH]
    # As many as there are processes, which take several cases each.
    assert 1 <= len(died) <= max(1, os.cpu_count() or 1)
    assert all("signal 6" in result.message for result in died)
    assert all("while closing the target" in result.message for result in died)
