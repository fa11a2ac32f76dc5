# SPDX-License-Identifier: Apache-2.0
"""`halyard vts` with the driver in-process, and what it makes of results."""

import dataclasses
import json
import struct
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halyard.cases import Case, load
from halyard.cli import program
from halyard.conformance.driver import Driver
from halyard.conformance.plan import Planned
from halyard.conformance.run import RunSettings
from halyard.devices import HostDevice, config_of
from halyard.errors import ConfigError
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.terminal.progress import Progress, time_left_text
from halyard.transport import hal_version
from halyard.vts import check_run
from halyard.vts.check_outcome import Outcome, Status, decided
from halyard.vts.check_plan import DEVICE, Unit, make_plan, official
from halyard.vts.check_run import jobs_on, newest_version, run_checks
from halyard.vts.check_selection import Wanted, gtest_filter
from halyard.vts.checks import Check, all_checks
from tests.harness.cases.test_golden_cases import addition
from tests.harness.cases.test_golden_suite import WRONG, write
from tests.harness.cli.test_conformance import endless, quantized_addition

Invoke = Callable[..., Result]

SYNC = "GeneratedTest.Test/add_SYNC"
V1_3 = pb.HAL_VERSION_1_3
SETTINGS = RunSettings()


@pytest.fixture
def invoke() -> Invoke:
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, ["vts", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An ordinary case, and one whose result can't be right."""
    return write(tmp_path, {"add": [addition(), addition(WRONG, name="wrong", droppedVariants=[])]})


def case_of(tmp_path: Path, **fields: Any) -> Case:
    [case] = load(write(tmp_path, {"add": [addition(**fields)]}))
    return case


def check(variant: str = "SYNC", scope: str = "each_case") -> Check:
    return Check("GeneratedTest", "Test", variant, scope, pb.HAL_VERSION_1_0, V1_3)


def outcomes_of(document: Any) -> dict[str, str]:
    return {test["name"]: test["outcome"] for test in document["tests"]}


# ---- the command --------------------------------------------------------------------------------


def test_reports_count_by_class_and_give_a_reason_of_what_did_not_pass(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    json_path, junit_path = tmp_path / "json", tmp_path / "xml"
    words = ("--hal", "1.3", "--filter", "GeneratedTest.*_SYNC:Neural*", "--goldens", folder)
    result = invoke(*words, "--json", json_path, "--junit", junit_path)
    assert result.exit_code == 1, result.output
    document = json.loads(json_path.read_text())
    assert document["classes"] == {
        "NeuralnetworksHidlTest": {"passed": 8, "failed": 0, "skipped": 1},
        "GeneratedTest": {"passed": 2, "failed": 1, "skipped": 0},
    }
    assert [document[each] for each in ("passed", "failed", "skipped")] == [10, 1, 1]
    assert document["planned"] == len(document["tests"]) == 12
    by_name = {test["name"]: test for test in document["tests"]}
    assert by_name[SYNC] == {
        "name": SYNC,
        "suite": "GeneratedTest",
        "hal": "1.3",
        "outcome": "passed",
        "reason": "",
        "seconds": by_name[SYNC]["seconds"],
        "model": "",
    }
    wrong = by_name["GeneratedTest.Test/wrong_SYNC"]
    assert (wrong["outcome"], wrong["hal"]) == ("failed", "1.3")
    assert "[0] is 11.0, expected 100.0" in wrong["reason"]
    [skipped] = [test for test in document["tests"] if test["outcome"] == "skipped"]
    assert skipped["name"] == "NeuralnetworksHidlTest.GetDeviceNameTest"
    assert "no service has a name" in skipped["reason"]
    suite = ET.parse(junit_path).getroot()[0]
    figures = [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")]
    assert figures == ["12", "1", "0", "1"]
    said = result.output
    assert "FAILED GeneratedTest.Test/wrong_SYNC: output 'sum': 1 of 2 elements" in said
    assert "NeuralnetworksHidlTest, 1: the device runs in-process" in said
    assert "10 passed, 1 failed, 1 skipped in" in said


def test_exit_code_0_where_nothing_fails_in_any_version(invoke: Invoke, folder: Path) -> None:
    result = invoke("--goldens", folder, "--hal", "1.0..aidl4", "-k", "not wrong")
    assert result.exit_code == 0, result.output
    assert "HAL 1.0, 1.1, 1.2, 1.3, AIDL-1, AIDL-2, AIDL-3, AIDL-4: " in result.output


def test_all_classes_are_made_of_a_case_that_fits(invoke: Invoke, tmp_path: Path) -> None:
    endless_case = {**endless(), "tags": ["infiniteLoop"]}
    folder = write(tmp_path, {"add": [addition(), quantized_addition(), endless_case]})
    json_path = tmp_path / "json"
    result = invoke("--goldens", folder, "--json", json_path)
    assert result.exit_code == 0, result.output
    document = json.loads(json_path.read_text())
    # The newest version.
    assert document["hal"] == ["AIDL-4"]
    expected = {each.suite for each in all_checks() if each.is_of(pb.HAL_VERSION_AIDL_4)}
    expected -= {each.suite for each in all_checks() if each.scope == "failing_case"}
    assert expected <= set(document["classes"])
    # Ordinary classes have nothing to do with a loop that never ends, nor the others with a sum.
    names = outcomes_of(document)
    assert {name.partition(".")[0] for name in names if "endless" in name} == {
        "InfiniteLoopTimeoutTest",
        "ValidationTest",
    }
    assert "QuantizationCouplingTest.Test/quantized" in names
    assert "QuantizationCouplingTest.Test/add" not in names


def test_a_hang_fails_its_test_and_the_others_of_its_case_are_made(
    invoke: Invoke, tmp_path: Path
) -> None:
    folder = write(tmp_path, {"hang": [endless()]})
    names = "GeneratedTest.Test/endless_SYNC:DeadlineTest.Test/endless_PREPARE*"
    words = ("--goldens", folder, "--hal", "1.3", "--filter", names, "--timeout", "0.5")
    result = invoke(*words, "--json", tmp_path / "json")
    assert result.exit_code == 1, result.output
    document = json.loads((tmp_path / "json").read_text())
    assert outcomes_of(document) == {
        "GeneratedTest.Test/endless_SYNC": "failed",
        "DeadlineTest.Test/endless_PREPARE_PRIORITY": "passed",
        "DeadlineTest.Test/endless_PREPARE_DEADLINE": "passed",
    }
    [hung] = [test for test in document["tests"] if test["outcome"] == "failed"]
    assert hung["reason"] == "no end after 500 ms while checking GeneratedTest.Test_SYNC"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "add and"), "a word is missing"),
        (("--hal", "1.9"), "no HAL version '1.9'"),
        (("--instance", "a-b"), "--instance needs a service"),
        (("--filter", "NoSuchTest.*"), "no test is left to be made"),
    ],
)
def test_a_wrong_command_line_exits_with_2(
    invoke: Invoke, folder: Path, words: Sequence[str], message: str
) -> None:
    result = invoke("--goldens", folder, *words)
    assert result.exit_code == 2, result.output
    assert message in result.output


def test_cases_come_from_the_folder_that_the_environment_names(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALYARD_GOLDENS", str(folder))
    result = invoke("--hal", "1.3", "--filter", SYNC)
    assert result.exit_code == 0, result.output
    assert "1 passed in" in result.output


def test_a_program_without_checks_says_so() -> None:
    program = native.folder() / "second-backend-runner"
    if not program.is_file():
        pytest.skip(f"{program} is not built")
    done = subprocess.run([program, "--list-checks"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "there are no checks in this program" in done.stderr


def test_an_emulated_device_is_told_of_how_many_and_how_to_make_fewer(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "2 checks of an emulated device: --sample N makes fewer, of N cases of each kind"
    words = ("--goldens", folder, "--hal", "1.3", "--filter", "GeneratedTest.*_SYNC", "-k", "add")
    monkeypatch.setattr(HostDevice, "is_emulated", True)
    all_of_them = invoke(*words)
    assert all_of_them.exit_code == 0, all_of_them.output
    assert hint in all_of_them.output
    assert "--sample N" not in invoke(*words, "--sample", "1").output
    monkeypatch.setattr(HostDevice, "is_emulated", False)
    assert "--sample N" not in invoke(*words).output


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "about 0 s left"),
        (119, "about 119 s left"),
        (120, "about 2 min left"),
        (5700, "about 95 min left"),
        (4 * 3600, "about 4.0 h left"),
    ],
)
def test_the_time_that_is_left_is_told_roughly(seconds: float, text: str) -> None:
    assert time_left_text(seconds) == text


def test_progress_tells_how_long_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    now = [0.0]
    monkeypatch.setattr("halyard.terminal.progress.time.monotonic", lambda: now[0])
    progress = Progress(Terminal(), 96, Status)
    now[0] = 60.0
    result = pb.CaseResult(checks=[row("SYNC", pb.CHECK_OUTCOME_SKIPPED)])
    [outcome] = decided(unit_of(case_of(tmp_path), "SYNC"), result)
    progress.add(outcome)
    said = f"1 of 96: 0 passed, 1 skipped; 0/s; about 95 min left; {SYNC}"
    assert capsys.readouterr().out.strip() == said


# ---- what is selected ---------------------------------------------------------------------------


def test_names_are_those_of_gtest() -> None:
    assert check().test_name("add") == SYNC
    assert check().id == "GeneratedTest.Test_SYNC"
    assert check(variant="").test_name("add") == "GeneratedTest.Test/add"
    assert Check("A", "B", "", "device", V1_3, V1_3).test_name("") == "A.B"


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("", {"A.b/x_SYNC", "A.b/y_BURST", "C.d"}),
        ("A.*", {"A.b/x_SYNC", "A.b/y_BURST"}),
        ("A.*:C.?", {"A.b/x_SYNC", "A.b/y_BURST", "C.d"}),
        ("-*BURST", {"A.b/x_SYNC", "C.d"}),
        ("A.*-*x*:*y*", set()),
        ("A.b", set()),
    ],
)
def test_filters_are_those_of_gtest(patterns: str, names: set[str]) -> None:
    wanted = gtest_filter(patterns)
    assert set(filter(wanted, ("A.b/x_SYNC", "A.b/y_BURST", "C.d"))) == names


def test_a_sample_takes_so_many_cases_of_each_kind(tmp_path: Path) -> None:
    quantized = [{**quantized_addition(), "name": f"quantized_{at}"} for at in range(5)]
    plain = [addition(name=f"add_{at}") for at in range(5)]
    cases = load(write(tmp_path, {"add": [*plain, *quantized]}))

    def plan(seed: int) -> list[tuple[str, str]]:
        units = make_plan(cases, [V1_3], all_checks(), Wanted(sample=2, seed=seed))
        return [(unit.case.name, each.suite) for unit in units for each in unit.checks]

    chosen = plan(1)
    for suite in ("GeneratedTest", "QuantizationCouplingTest"):
        assert len({name for name, of in chosen if of == suite}) == 2
    assert plan(1) == chosen
    assert any(plan(seed) != chosen for seed in range(2, 12))


def test_each_version_has_the_checks_that_are_of_it(tmp_path: Path) -> None:
    late = addition(name="late", halVersion="V1_3")
    cases = load(write(tmp_path, {"add": [addition(), late]}))
    versions = (*hal_version.ALL, *hal_version.AIDL)
    units = make_plan(cases, versions, all_checks(), Wanted())
    made = {
        (check.test_name(unit.case.name), unit.version) for unit in units for check in unit.checks
    }
    assert (SYNC, pb.HAL_VERSION_1_1) not in made
    assert (SYNC, pb.HAL_VERSION_1_2) in made
    assert ("GeneratedTest.Test/add_ASYNC", pb.HAL_VERSION_1_0) in made
    assert ("GeneratedTest.Test/late_ASYNC", pb.HAL_VERSION_1_2) not in made
    assert ("GeneratedTest.Test/add_ASYNC", pb.HAL_VERSION_AIDL_1) not in made
    assert ("GeneratedTest.Test/late_REUSABLE", pb.HAL_VERSION_AIDL_4) in made
    assert ("GeneratedTest.Test/late_REUSABLE", pb.HAL_VERSION_AIDL_3) not in made
    assert ("NeuralNetworksAidlTest.CycleTest", pb.HAL_VERSION_AIDL_2) in made
    assert ("NeuralnetworksHidlTest.CycleTest", pb.HAL_VERSION_AIDL_2) not in made


def test_a_case_that_must_fail_has_mutants_and_is_not_executed_for_results(tmp_path: Path) -> None:
    cases = load(write(tmp_path, {"add": [addition(expectFailure=True)]}))
    *_, unit = make_plan(cases, [V1_3], all_checks(), Wanted())
    names = {each.test_name(unit.case.name) for each in unit.checks}
    assert {name.partition(".")[0] for name in names} == {"ValidationTest"}
    assert "ValidationTest.Test/add_mutateOperandTypeTest" in names
    assert "ValidationTest.Test/add_validateRequestFailure" in names
    assert "ValidationTest.Test/add_removeInputTest" not in names


def coupled(*operations: pb.OperationType, referenced: Sequence[pb.OperationType] = ()) -> Case:
    """With operations on unsigned bytes, in the main subgraph and in another one."""

    def subgraph(types: Sequence[pb.OperationType]) -> pb.Subgraph:
        return pb.Subgraph(
            operands=[pb.Operand(type=pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM)],
            operations=[pb.Operation(type=each, inputs=[0]) for each in types],
        )

    model = pb.Model(main=subgraph(operations))
    if referenced:
        model.main.operands[0].type = pb.OPERAND_TYPE_TENSOR_BOOL8
        model.referenced.append(subgraph(referenced))
    return dataclasses.replace(DEVICE, test_case=pb.TestCase(model=model))


def test_twins_are_made_of_one_operation_wherever_its_bytes_are() -> None:
    add, cast = pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_CAST
    of_twins = check(scope="coupled_case")
    assert of_twins.is_for(coupled(add))
    assert not of_twins.is_for(coupled(add, add))
    assert not of_twins.is_for(coupled(cast))
    assert of_twins.is_for(coupled(pb.OPERATION_TYPE_IF, referenced=[cast, add]))
    assert not of_twins.is_for(coupled(pb.OPERATION_TYPE_IF, referenced=[cast]))


def test_cases_have_the_forms_with_other_lifetimes(tmp_path: Path) -> None:
    case = case_of(tmp_path)
    assert [each.name for each in official([case])] == ["add", "add_all_inputs_as_internal"]


def test_checks_of_the_device_can_be_made_side_by_side() -> None:
    units = make_plan([], [V1_3, pb.HAL_VERSION_AIDL_1], all_checks(), Wanted())
    assert all(len(unit.checks) == 1 for unit in units)
    assert len({unit.planned().name for unit in units}) == len(units) > 100


def test_an_expression_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="a bracket is not closed"):
        Wanted(expression="(a").matcher()


# ---- what results mean --------------------------------------------------------------------------


def outputs(*values: float) -> pb.ExampleResult:
    data = struct.pack(f"<{len(values)}f", *values)
    output = pb.OutputResult(data=data, dimensions=[len(values)], is_sufficient=True)
    return pb.ExampleResult(outputs=[output])


def row(variant: str, outcome: pb.CheckOutcome, **fields: Any) -> pb.CheckResult:
    return pb.CheckResult(name=f"GeneratedTest.Test_{variant}", outcome=outcome, **fields)


def unit_of(case: Case, *variants: str) -> Unit:
    return Unit(case, V1_3, tuple(check(variant) for variant in variants))


def statuses(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.name.rpartition("_")[2], outcome.status.value) for outcome in outcomes]


def test_a_test_passes_where_its_outputs_are_right(tmp_path: Path) -> None:
    passed = pb.CHECK_OUTCOME_PASSED
    result = pb.CaseResult(
        examples=[outputs(11, 22), outputs(11, 99), outputs(11)],
        checks=[
            row("ASYNC", passed, examples=[0]),
            row("SYNC", passed, examples=[0, 1]),
            row("BURST", passed, examples=[2]),
            row("NONE", passed),
            row("LOST", passed, examples=[7]),
        ],
    )
    unit = unit_of(case_of(tmp_path), "ASYNC", "SYNC", "BURST", "NONE", "LOST")
    found = decided(unit, result)
    assert statuses(found) == [
        ("ASYNC", "passed"),
        ("SYNC", "failed"),
        ("BURST", "failed"),
        ("NONE", "passed"),
        ("LOST", "failed"),
    ]
    assert "[1] is 99.0, expected 22.0" in found[1].message
    assert found[2].message == "output 'sum': dimensions [1], expected [2]"
    assert found[4].message == "its outputs did not come"


def test_what_the_device_says_of_a_test_stands(tmp_path: Path) -> None:
    result = pb.CaseResult(
        checks=[
            row("ASYNC", pb.CHECK_OUTCOME_SKIPPED, reason="no such rule"),
            row("SYNC", pb.CHECK_OUTCOME_FAILED, reason="timing is told"),
        ]
    )
    found = decided(unit_of(case_of(tmp_path), "ASYNC", "SYNC"), result)
    assert [(each.status, each.message) for each in found] == [
        (Status.SKIPPED, "no such rule"),
        (Status.FAILED, "timing is told"),
    ]


def test_the_last_test_is_to_blame_for_an_early_end(tmp_path: Path) -> None:
    unit = unit_of(case_of(tmp_path), "ASYNC", "SYNC", "BURST")
    crash = {"failed_stage": pb.STAGE_CRASH, "message": "the service died"}
    rows = [row("ASYNC", pb.CHECK_OUTCOME_PASSED), row("SYNC", pb.CHECK_OUTCOME_PASSED)]
    found = decided(unit, pb.CaseResult(checks=rows, **crash))
    assert statuses(found) == [("ASYNC", "passed"), ("SYNC", "failed")]
    assert (found[1].message, found[1].crashed) == ("the service died", True)
    # Before the first one was begun.
    [first] = decided(unit, pb.CaseResult(**crash))
    assert statuses([first]) == [("ASYNC", "failed")]
    assert "the service died" in first.message


def test_tests_behind_a_crash_are_made_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[list[str]] = []

    def fake(
        _: Driver, planned: Sequence[Planned], __: RunSettings
    ) -> Iterator[tuple[Planned, pb.CaseResult]]:
        for each in planned:
            names = list(each.case.test_case.checks)
            rounds.append([name.rpartition("_")[2] for name in names])
            result = pb.CaseResult(version_string="a driver")
            for name in names:
                result.checks.add(name=name, outcome=pb.CHECK_OUTCOME_PASSED)
                if name.endswith("_SYNC"):
                    result.failed_stage = pb.STAGE_CRASH
                    result.message = "killed by signal 11"
                    break
            yield each, result

    monkeypatch.setattr(check_run, "run", fake)
    unit = unit_of(case_of(tmp_path), "ASYNC", "SYNC", "BURST", "REUSABLE")
    driver: Any = None
    found = list(run_checks(driver, [unit], SETTINGS))
    assert rounds == [["ASYNC", "SYNC", "BURST", "REUSABLE"], ["BURST", "REUSABLE"]]
    assert statuses([outcome for outcome, _ in found]) == [
        ("ASYNC", "passed"),
        ("SYNC", "failed"),
        ("BURST", "passed"),
        ("REUSABLE", "passed"),
    ]
    assert {version for _, version in found} == {"a driver"}


def test_of_several_at_a_time_those_that_a_crash_caught_are_made_again_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[tuple[int, list[str]]] = []

    def fake(
        _: Driver, planned: Sequence[Planned], settings: RunSettings
    ) -> Iterator[tuple[Planned, pb.CaseResult]]:
        for each in planned:
            names = list(each.case.test_case.checks)
            rounds.append((settings.jobs, [name.rpartition("_")[2] for name in names]))
            result = pb.CaseResult()
            for name in names:
                result.checks.add(name=name, outcome=pb.CHECK_OUTCOME_PASSED)
                # One brings the service down, and the other is under way then.
                if name.endswith("_SYNC") or (settings.jobs > 1 and name.endswith("_BURST")):
                    result.failed_stage = pb.STAGE_CRASH
                    break
            yield each, result

    monkeypatch.setattr(check_run, "run", fake)
    case = case_of(tmp_path)
    units = [unit_of(case, "ASYNC", "SYNC"), Unit(DEVICE, V1_3, (check("BURST"), check("NONE")))]
    driver: Any = None
    found = [outcome for outcome, _ in run_checks(driver, units, RunSettings(jobs=4))]
    assert rounds == [
        (4, ["ASYNC", "SYNC"]),
        (4, ["BURST", "NONE"]),
        (1, ["SYNC"]),
        (1, ["BURST", "NONE"]),
    ]
    assert statuses(found) == [
        ("ASYNC", "passed"),
        ("SYNC", "failed"),
        ("BURST", "passed"),
        ("NONE", "passed"),
    ]


def test_several_at_a_time_suit_the_virtual_device_alone() -> None:
    assert jobs_on(config_of("vm")) > 1
    assert jobs_on(config_of("host")) == jobs_on(config_of("0123456789")) == 0


def test_a_check_that_the_version_does_not_have_fails() -> None:
    checks = (Check("GeneratedTest", "Test", "REUSABLE", "device", V1_3, V1_3),)
    with Driver.open(config_of("host")) as driver:
        [(outcome, _)] = run_checks(driver, [Unit(DEVICE, V1_3, checks)], SETTINGS)
        assert newest_version(driver) == pb.HAL_VERSION_AIDL_4
    assert outcome.status is Status.FAILED
    assert outcome.message == "HAL 1.3 has no check of this name"
