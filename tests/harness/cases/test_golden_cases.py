# SPDX-License-Identifier: Apache-2.0
"""Loading golden cases, deriving variants of them, and the official check of results."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halyard.cases import Case, derived, load
from halyard.cases.variants import signed, unspecified_outputs, with_lifetimes
from halyard.errors import HalyardError
from halyard.model import constant
from halyard.proto import halyard_pb2 as pb

Json = dict[str, Any]
Write = Callable[..., Case]


def encode(values: Any, dtype: str = "<f4") -> str:
    return base64.b64encode(np.array(values, dtype).tobytes()).decode()


def operand(name: str, lifetime: str, data: str | None, **fields: Any) -> Json:
    return {
        "name": name,
        "type": "TENSOR_FLOAT32",
        "dimensions": [2],
        "scale": 0.0,
        "zeroPoint": 0,
        "lifetime": lifetime,
        "data": data,
        **fields,
    }


def quantized(name: str, lifetime: str, values: list[int], zero_point: int) -> Json:
    fields = {"type": "TENSOR_QUANT8_ASYMM", "scale": 0.5, "zeroPoint": zero_point}
    return operand(name, lifetime, encode(values, "u1"), **fields)


ACTIVATION = operand("act", "CONSTANT_COPY", encode([0], "<i4"), type="INT32", dimensions=[])


def addition(operands: list[Json] | None = None, **fields: Any) -> Json:
    """A case of ADD: an input, a constant, the activation, the output."""
    return {
        "name": "add",
        "halVersion": "V1_0",
        "isRelaxed": False,
        "expectFailure": False,
        "expectedMultinomialDistributionTolerance": 0,
        "tolerance": {"TENSOR_FLOAT32": {"atol": 0.01, "rtol": 0.5}},
        "droppedVariants": [["all_inputs_as_internal"]],
        "tags": [],
        "main": {
            "operands": operands
            or [
                operand("a", "SUBGRAPH_INPUT", encode([1, 2])),
                operand("b", "CONSTANT_REFERENCE", encode([10, 20])),
                ACTIVATION,
                operand("sum", "SUBGRAPH_OUTPUT", encode([11, 22])),
            ],
            "operations": [{"type": "ADD", "inputs": [0, 1, 2], "outputs": [3]}],
            "inputIndexes": [0],
            "outputIndexes": [3],
        },
        "referenced": [],
        **fields,
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a case to a file and loads it."""

    def write_case(case: Json) -> Case:
        path = tmp_path / "spec.json.gz"
        document = {"schema": 1, "spec": "V1_0/add.mod.py", "cases": [case]}
        path.write_bytes(gzip.compress(json.dumps(document).encode()))
        (golden,) = load(path)
        return golden

    return write_case


def result_of(case: Case, *outputs: Any, dimensions: tuple[int, ...] = (2,)) -> pb.CaseResult:
    example = pb.ExampleResult()
    for values in outputs:
        data = np.array(values, case.expected[0].values.dtype).tobytes()
        example.outputs.add(data=data, dimensions=dimensions, is_sufficient=True)
    return pb.CaseResult(name=case.name, examples=[example])


# ---- loading ------------------------------------------------------------------------------------


def test_a_case_becomes_a_test_case_with_one_example(write: Write) -> None:
    case = write(addition())
    main = case.test_case.model.main
    assert case.operations == {"ADD"}
    assert case.hal_version == pb.HAL_VERSION_1_0
    assert case.test_case.examples[0].inputs[0].data == np.array([1, 2], "<f4").tobytes()
    assert case.test_case.examples[0].outputs[0].byte_size == 8
    np.testing.assert_array_equal(constant(case.test_case.model, main.operands[1]), [10, 20])
    assert main.operands[1].lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
    np.testing.assert_array_equal(case.expected[0].values, [11, 22])


def test_an_input_without_data_is_omitted(write: Write) -> None:
    source = addition()
    source["main"]["operands"][0]["data"] = ""
    assert write(source).test_case.examples[0].inputs[0].has_no_value


def test_an_empty_result_is_offered_a_byte(write: Write) -> None:
    source = addition()
    source["main"]["operands"][3] |= {"data": "", "dimensions": [0]}
    case = write(source)
    assert case.test_case.examples[0].outputs[0].byte_size == 1
    assert case.check(result_of(case, [], dimensions=(0,))).passed


def test_an_unspecified_extent_of_an_input_follows_from_its_data(write: Write) -> None:
    source = addition()
    source["main"]["operands"][0]["dimensions"] = [0]
    case = write(source)
    assert list(case.test_case.examples[0].inputs[0].dimensions) == [2]
    assert list(case.test_case.model.main.operands[0].dimensions) == [0]


def test_a_folder_is_read_by_its_index_without_newer_cases(tmp_path: Path, write: Write) -> None:
    write(addition())
    newer = {"schema": 1, "spec": "new", "cases": [addition(halVersion="AIDL_V9")]}
    (tmp_path / "new.json.gz").write_bytes(gzip.compress(json.dumps(newer).encode()))
    specs = [{"file": "spec.json.gz"}, {"file": "new.json.gz"}]
    (tmp_path / "index.json").write_text(json.dumps({"specs": specs}))
    assert [case.spec for case in load(tmp_path)] == ["V1_0/add.mod.py"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not gzip",
        gzip.compress(b"not json", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b'{"schema": 2}', mtime=0),
        gzip.compress(b'{"schema": 1, "spec": "x", "cases": [{"name": 1}]}', mtime=0),
        gzip.compress(b'{"schema": 1, "spec": "x", "cases": []}', mtime=0)[:-9],
    ],
)
def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.json.gz"
    path.write_bytes(content)
    with pytest.raises(HalyardError, match=r"odd\.json\.gz"):
        load(path)


# ---- the check ----------------------------------------------------------------------------------


def test_tolerance_is_absolute_plus_relative_to_the_expected_value(write: Write) -> None:
    case = write(addition())
    assert case.check(result_of(case, [11 + 5.5, 22 - 11])).passed
    verdict = case.check(result_of(case, [11 + 5.6, 22]))
    assert not verdict.passed
    assert "'sum': 1 of 2 elements are off: [0] is 16.6, expected 11.0" in verdict.reason


@pytest.mark.parametrize(
    ("expected", "actual", "passes"),
    [
        ([np.nan, 0], [np.nan, 0], False),
        ([0, 0], [np.nan, 0], False),
        ([np.inf, 0], [np.inf, 0], True),
        ([np.inf, 0], [-np.inf, 0], False),
        ([1, 0], [np.inf, 0], False),
    ],
)
def test_nan_never_passes_and_infinity_only_as_itself(
    write: Write, expected: list[float], actual: list[float], passes: bool
) -> None:
    source = addition(tolerance={"TENSOR_FLOAT32": {"atol": 0.01, "rtol": 0}})
    source["main"]["operands"][3]["data"] = encode(expected)
    case = write(source)
    assert case.check(result_of(case, actual)).passed == passes


def test_other_dimensions_fail(write: Write) -> None:
    case = write(addition())
    verdict = case.check(result_of(case, [11, 22], dimensions=(1, 2)))
    assert verdict.reason == "output 'sum': dimensions [1, 2], expected [2]"


def test_a_missing_or_short_output_fails(write: Write) -> None:
    case = write(addition())
    assert case.check(result_of(case)).reason == "0 outputs, 1 expected"
    assert "4 bytes, expected 8" in case.check(result_of(case, [11])).reason


def test_an_ignored_output_is_not_looked_at(write: Write) -> None:
    source = addition()
    source["main"]["operands"][3]["isIgnored"] = True
    case = write(source)
    assert case.check(result_of(case, [5], dimensions=(9,))).passed


@pytest.mark.parametrize("stage", [pb.STAGE_SUPPORT, pb.STAGE_PREPARE, pb.STAGE_EXECUTE])
def test_where_failure_is_expected_any_stage_may_fail(write: Write, stage: pb.Stage) -> None:
    failed = pb.CaseResult(
        failed_stage=stage, status=pb.ERROR_STATUS_INVALID_ARGUMENT, message="no"
    )
    case = write(addition(expectFailure=True, tolerance={}))
    assert case.check(failed).passed
    assert not case.check(result_of(case, [11, 22])).passed
    assert "INVALID_ARGUMENT no" in write(addition()).check(failed).reason


@pytest.mark.parametrize("stage", [pb.STAGE_LOAD, pb.STAGE_CRASH, pb.STAGE_HANG])
def test_a_crash_or_hang_never_passes(write: Write, stage: pb.Stage) -> None:
    case = write(addition(expectFailure=True, tolerance={}))
    assert not case.check(pb.CaseResult(failed_stage=stage)).passed


def test_an_execution_that_fails_is_a_failure(write: Write) -> None:
    result = pb.CaseResult(
        examples=[pb.ExampleResult(status=pb.ERROR_STATUS_GENERAL_FAILURE, message="why")]
    )
    assert write(addition()).check(result).reason == "execute: GENERAL_FAILURE why"


def test_draws_are_judged_by_their_frequencies(write: Write) -> None:
    source = addition(tolerance={}, expectedMultinomialDistributionTolerance=0.1)
    source["main"]["operands"][0] |= {"dimensions": [1, 2], "data": encode([[0, np.log(3)]])}
    source["main"]["operands"][3] |= {
        "type": "TENSOR_INT32",
        "dimensions": [1, 8],
        "data": encode([[0] * 8], "<i4"),
    }
    case = write(source)
    shape = (1, 8)
    assert case.check(result_of(case, [[1, 1, 0, 1, 1, 0, 1, 1]], dimensions=shape)).passed
    assert not case.check(result_of(case, [[0, 0, 0, 1, 1, 0, 1, 1]], dimensions=shape)).passed
    assert not case.check(result_of(case, [[1, 1, 0, 1, 1, 0, 1, 2]], dimensions=shape)).passed


# ---- variants -----------------------------------------------------------------------------------


def test_outputs_can_be_left_unspecified(write: Write) -> None:
    case = unspecified_outputs(write(addition()))
    assert case is not None
    assert list(case.test_case.model.main.operands[3].dimensions) == [0]
    assert case.hal_version == pb.HAL_VERSION_1_2
    assert case.expected[0].dimensions == (2,)


def test_signed_values_lie_128_steps_lower(write: Write) -> None:
    source = addition(
        [
            quantized("a", "SUBGRAPH_INPUT", [0, 255], 128),
            quantized("b", "CONSTANT_COPY", [1, 127], 0),
            ACTIVATION,
            quantized("sum", "SUBGRAPH_OUTPUT", [128, 130], 255),
        ]
    )
    case = signed(write(source))
    assert case is not None
    model = case.test_case.model
    assert case.hal_version == pb.HAL_VERSION_1_3
    assert [model.main.operands[i].zero_point for i in (0, 1, 3)] == [0, -128, 127]
    assert np.frombuffer(case.test_case.examples[0].inputs[0].data, "i1").tolist() == [-128, 127]
    assert constant(model, model.main.operands[1]).tolist() == [-127, -1]
    assert case.expected[0].values.tolist() == [0, 2]
    assert constant(model, model.main.operands[2]).tolist() == 0


def test_a_float_case_has_no_signed_variant(write: Write) -> None:
    assert signed(write(addition())) is None


def test_constants_can_become_inputs(write: Write) -> None:
    case = with_lifetimes(write(addition()), ("all_tensors_as_inputs",))
    assert case is not None
    main = case.test_case.model.main
    assert list(main.input_indexes) == [0, 1]
    assert main.operands[1].lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
    assert case.test_case.examples[0].inputs[1].data == np.array([10, 20], "<f4").tobytes()
    assert main.operands[2].lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY


@pytest.mark.parametrize("name", ["all_inputs_as_internal", "all_outputs_as_internal"])
def test_operands_can_move_inside_the_model(write: Write, name: str) -> None:
    original = write(addition())
    case = with_lifetimes(original, (name,))
    assert case is not None
    main = case.test_case.model.main
    assert len(main.operations) == 2
    inner = 0 if name == "all_inputs_as_internal" else 3
    assert main.operands[inner].lifetime == pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
    writers = [index for operation in main.operations for index in operation.outputs]
    readers = [index for operation in main.operations for index in operation.inputs]
    assert inner in writers
    assert inner in readers
    known = set(main.input_indexes)
    for operation in main.operations:
        fed = {
            index
            for index in operation.inputs
            if main.operands[index].lifetime == pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
        }
        assert fed <= known
        known.update(operation.outputs)


def test_variants_leave_the_case_itself_alone(write: Write) -> None:
    case = write(addition())
    before = case.test_case.SerializeToString(deterministic=True)
    names = [variant.name for variant in derived(case)]
    assert names == ["add_unspecified_outputs", "add_all_inputs_as_internal"]
    assert case.test_case.SerializeToString(deterministic=True) == before
