# SPDX-License-Identifier: Apache-2.0
"""Which conformance cases are wanted, through which HAL versions, and what is expected of them."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from halyard.cases import Case
from halyard.conformance.expectations import Expectations
from halyard.conformance.history import History
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.plan import make_plan, parse_versions
from halyard.conformance.selection import Selection, matcher
from halyard.devices import Wire
from halyard.errors import ConfigError
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version

FLOATS = pb.OPERAND_TYPE_TENSOR_FLOAT32


def case(name: str, operation: int, operand_type: int = FLOATS, **fields: Any) -> Case:
    model = pb.Model(name=name)
    scale = 0.0 if operand_type == FLOATS else 1.0
    for lifetime in (pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT, pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT):
        model.main.operands.add(type=operand_type, dimensions=[2], lifetime=lifetime, scale=scale)
    model.main.operations.add(type=operation, inputs=[0], outputs=[1])
    model.main.input_indexes.append(0)
    model.main.output_indexes.append(1)
    values: dict[str, Any] = {
        "name": name,
        "spec": "spec",
        "test_case": pb.TestCase(name=name, model=model),
        "expected": (),
        "hal_version": pb.HAL_VERSION_1_0,
        "expect_failure": False,
        "tags": frozenset(),
        "lifetime_variants": (),
    }
    return Case(**(values | fields))


def outcome(name: str, status: Status) -> Outcome:
    return Outcome(
        name=name,
        spec="spec",
        status=status,
        stage="" if status is Status.PASSED else "compare",
        message="" if status is Status.PASSED else "off",
        max_steps=None,
        max_error=None,
        compared=0,
        operations=(),
        types=(),
        forms=(),
        hal="1.3",
        seconds=0.5,
    )


# ---- by name ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("", ["conv2d_relu", "conv2d", "relu6", "add.b[1]"]),
        ("CONV", ["conv2d_relu", "conv2d"]),
        ("conv and relu", ["conv2d_relu"]),
        ("conv and not relu", ["conv2d"]),
        ("not conv or relu", ["conv2d_relu", "relu6", "add.b[1]"]),
        ("not (conv or relu)", ["add.b[1]"]),
        ("not not conv and not(relu)", ["conv2d"]),
        ("relu6 or conv and relu", ["conv2d_relu", "relu6"]),
        ("add.b[1]", ["add.b[1]"]),
    ],
)
def test_an_expression_selects_as_pytest_does(expression: str, matching: list[str]) -> None:
    names = ["conv2d_relu", "conv2d", "relu6", "add.b[1]"]
    wanted = matcher(expression)
    assert [name for name in names if wanted(name)] == matching


@pytest.mark.parametrize(
    "expression", ["and", "conv and", "conv relu", "(conv", "conv)", "not", "conv & relu", "()"]
)
def test_a_wrong_expression_is_refused(expression: str) -> None:
    with pytest.raises(ConfigError, match="-k"):
        matcher(expression)


# ---- by operation and type ----------------------------------------------------------------------


CASES = [
    case("relu", pb.OPERATION_TYPE_RELU),
    case("relu_quant8", pb.OPERATION_TYPE_RELU, pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM),
    case("floor", pb.OPERATION_TYPE_FLOOR),
]


@pytest.mark.parametrize(
    ("operations", "types", "names"),
    [
        ("", "", ["relu", "relu_quant8", "floor"]),
        ("RELU", "", ["relu", "relu_quant8"]),
        ("relu, floor", "", ["relu", "relu_quant8", "floor"]),
        ("", "TENSOR_QUANT8_ASYMM", ["relu_quant8"]),
        ("RELU", "float32", ["relu"]),
    ],
)
def test_operations_and_types_select(operations: str, types: str, names: list[str]) -> None:
    assert [c.name for c in Selection.of("", operations, types).of_cases(CASES)] == names


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="--operations"):
        Selection.of("", "ADD,", "")


def test_a_case_knows_its_forms() -> None:
    assert CASES[1].forms == {("RELU", "QUANT8_ASYMM")}
    assert CASES[1].types == {"QUANT8_ASYMM"}


@pytest.mark.parametrize(
    ("inputs", "type_name"),
    [
        (["TENSOR_BOOL8", "TENSOR_FLOAT16"], "FLOAT16"),
        (["INT32", "TENSOR_QUANT8_ASYMM", "TENSOR_FLOAT32"], "QUANT8_ASYMM"),
        (["TENSOR_INT32", "INT32"], "INT32"),
        (["SUBGRAPH"], "SUBGRAPH"),
        ([], "none"),
    ],
)
def test_an_operation_counts_by_the_type_that_it_computes_with(
    inputs: list[str], type_name: str
) -> None:
    model = pb.Model()
    for name in inputs:
        model.main.operands.add(type=pb.OperandType.Value(f"OPERAND_TYPE_{name}"))
    model.main.operations.add(type=pb.OPERATION_TYPE_ADD, inputs=range(len(inputs)))
    of_any = case("any", pb.OPERATION_TYPE_ADD, test_case=pb.TestCase(model=model))
    assert of_any.forms == {("ADD", type_name)}


# ---- HAL versions -------------------------------------------------------------------------------


def test_versions_are_one_a_range_or_all() -> None:
    assert parse_versions(None).versions == ()
    assert parse_versions("1.1").versions == (pb.HAL_VERSION_1_1,)
    assert parse_versions("1.1..1.3").versions == hal_version.ALL[1:4]
    assert parse_versions("all").versions == tuple(hal_version.ALL)
    assert parse_versions("aidl2").versions == (pb.HAL_VERSION_AIDL_2,)


def test_a_service_is_reached_where_the_versions_are() -> None:
    assert parse_versions("aidl").wires == [Wire.AIDL]
    assert parse_versions("1.3..aidl2").wires == [Wire.HIDL, Wire.AIDL]
    # A HIDL version is lower than any of AIDL's.
    assert parse_versions("lowest").wires == parse_versions(None).wires == [Wire.HIDL]


@pytest.mark.parametrize("text", ["1.9", "1.3..1.0", "..", "1.0..", "newest"])
def test_a_wrong_version_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--hal"):
        parse_versions(text)


def test_each_case_runs_through_the_versions_that_can_carry_it() -> None:
    cases = [
        case("relu", pb.OPERATION_TYPE_RELU),
        case("abs", pb.OPERATION_TYPE_ABS, hal_version=pb.HAL_VERSION_1_2),
        # The driver knows better than the case: ABS came with 1.2.
        case("early", pb.OPERATION_TYPE_ABS),
        case("elu", pb.OPERATION_TYPE_ELU, hal_version=pb.HAL_VERSION_1_3),
    ]
    plan = make_plan(cases, parse_versions("1.1..1.2"), pb.HAL_VERSION_UNSPECIFIED)
    assert [(run.name, run.version) for run in plan.runs] == [
        ("relu[1.1]", pb.HAL_VERSION_1_1),
        ("relu[1.2]", pb.HAL_VERSION_1_2),
        ("abs[1.2]", pb.HAL_VERSION_1_2),
        ("early[1.2]", pb.HAL_VERSION_1_2),
    ]
    assert [c.name for c in plan.left_out] == ["elu"]


def test_a_target_is_asked_for_no_version_that_it_lacks() -> None:
    plan = make_plan(CASES[:1], parse_versions("1.2..1.3"), pb.HAL_VERSION_1_2)
    assert [run.name for run in plan.runs] == ["relu[1.2]"]
    assert plan.left_out == ()


def test_the_lowest_version_is_that_of_each_case() -> None:
    cases = [case("relu", pb.OPERATION_TYPE_RELU), case("abs", pb.OPERATION_TYPE_ABS)]
    plan = make_plan(cases, parse_versions("lowest"), pb.HAL_VERSION_UNSPECIFIED)
    assert [(run.name, run.version) for run in plan.runs] == [
        ("relu", pb.HAL_VERSION_1_0),
        ("abs", pb.HAL_VERSION_1_2),
    ]


def test_one_version_leaves_names_alone() -> None:
    plan = make_plan(CASES[:1], parse_versions("1.2"), pb.HAL_VERSION_UNSPECIFIED)
    assert [(run.name, run.version) for run in plan.runs] == [("relu", pb.HAL_VERSION_1_2)]


def test_without_versions_each_case_runs_through_the_newest_of_the_target() -> None:
    cases = [CASES[0], case("elu", pb.OPERATION_TYPE_ELU, hal_version=pb.HAL_VERSION_1_3)]
    plan = make_plan(cases, parse_versions(None), pb.HAL_VERSION_1_2)
    assert [(run.name, run.version) for run in plan.runs] == [("relu", 0)]
    assert [c.name for c in plan.left_out] == ["elu"]


# ---- what is expected ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "judged", "is_good"),
    [
        (Status.FAILED, Status.XFAILED, True),
        (Status.CRASHED, Status.XFAILED, True),
        (Status.PASSED, Status.XPASSED, False),
        (Status.UNSUPPORTED, Status.UNSUPPORTED, True),
    ],
)
def test_an_expected_failure_has_to_fail(status: Status, judged: Status, is_good: bool) -> None:
    found = Expectations({"conv_*": "rounds"}).judged("conv_1", outcome("conv_1", status))
    assert found.status is judged
    assert found.status.is_good == is_good
    assert judged is status or "rounds" in found.message


def test_what_no_pattern_names_is_judged_as_it_is() -> None:
    failed = outcome("add", Status.FAILED)
    assert Expectations({"conv_*": "rounds", "ADD": "case counts"}).judged("add", failed) == failed


# ---- what failed last time ----------------------------------------------------------------------


def test_history_keeps_what_failed_until_it_passes(tmp_path: Path) -> None:
    history = History("phone:5555", tmp_path)
    assert history.failed() == frozenset()
    statuses = {
        "a": Status.FAILED,
        "b": Status.CRASHED,
        "c": Status.XPASSED,
        "d": Status.PASSED,
        "e": Status.UNSUPPORTED,
        "f": Status.XFAILED,
    }
    history.keep(outcome(name, status) for name, status in statuses.items())
    assert History("phone:5555", tmp_path).failed() == {"a", "b", "c"}
    # Cases that do not run stay.
    history.keep([outcome("a", Status.PASSED), outcome("d", Status.FAILED)])
    assert history.failed() == {"b", "c", "d"}
    assert History("phone", tmp_path).failed() == frozenset()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"failed": 1}', "\0"])
def test_a_spoilt_history_is_none(tmp_path: Path, content: str) -> None:
    history = History("host", tmp_path)
    history.keep([outcome("a", Status.FAILED)])
    [file] = tmp_path.iterdir()
    file.write_text(content)
    assert history.failed() == frozenset()
    history.keep([outcome("b", Status.FAILED)])
    assert history.failed() == {"b"}


def test_an_outcome_can_be_replaced_by_its_fields() -> None:
    changed = dataclasses.replace(outcome("a", Status.PASSED), max_error=float("inf"))
    assert changed.record().max_error == "inf"
