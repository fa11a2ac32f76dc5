# SPDX-License-Identifier: Apache-2.0
"""The numpy reference against the golden cases: what proves the engine has to be proved first, by
the official check."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halyard import golden_folder, reference
from halyard.cases import Case, golden
from halyard.model import dtype_of, operation_name
from halyard.proto import halyard_pb2 as pb

# Not for a reference, which takes every model as valid.
_NOT_FOR_IT = {"infiniteLoop": "does not end"}


def _files() -> list[object]:
    folder = golden_folder.find()
    absent = golden_folder.absent()
    if folder is None or absent:
        skip = pytest.mark.skip(reason=absent)
        return [pytest.param(Path(), marks=skip, id="absent")]
    return [
        pytest.param(path, id=str(path.relative_to(folder)).removesuffix(".json.gz"))
        for path in golden.files(folder)
    ]


@pytest.fixture(scope="module")
def counts() -> Iterator[Counter[str]]:
    """The outcomes of the golden cases. `-s` shows it."""
    counted: Counter[str] = Counter()
    yield counted
    print(
        "\ngolden cases on the reference:", ", ".join(f"{n} {name}" for name, n in counted.items())
    )


def result_of(case: Case) -> pb.CaseResult:
    """The reference's result of a case, as a device would report it."""
    outputs = reference.run(case.test_case.model, case.test_case.examples[0].inputs)
    return pb.CaseResult(
        examples=[
            pb.ExampleResult(
                outputs=[
                    pb.OutputResult(
                        data=output.tobytes(), dimensions=output.shape, is_sufficient=True
                    )
                    for output in outputs
                ]
            )
        ]
    )


@pytest.mark.parametrize("path", _files())
def test_passes_golden_cases(path: Path, counts: Counter[str]) -> None:
    cases = golden.load(path)
    failures = []
    for case in cases:
        excluded = [why for tag, why in _NOT_FOR_IT.items() if tag in case.tags]
        if case.expect_failure or excluded:
            counts["left out: " + (excluded[0] if excluded else "must be refused")] += 1
            continue
        verdict = case.check(result_of(case))
        counts["passed" if verdict.passed else "failed"] += 1
        if not verdict.passed:
            failures.append(f"{case.name}: {verdict.reason}")
    assert not failures, "\n".join(failures)
    assert cases, "no HAL version that is known carries its cases"


def test_has_every_operation() -> None:
    listed = {
        operation_name(value)
        for name, value in pb.OperationType.items()
        if name != "OPERATION_TYPE_OEM_OPERATION"
    }
    assert listed == reference.operations()


def test_tells_an_operation_that_it_does_not_have() -> None:
    model = pb.Model()
    model.main.operands.add(
        type=pb.OPERAND_TYPE_TENSOR_FLOAT32,
        dimensions=[1],
        lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT,
    )
    model.main.operands.add(
        type=pb.OPERAND_TYPE_TENSOR_FLOAT32,
        dimensions=[1],
        lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT,
    )
    model.main.operations.add(type=pb.OPERATION_TYPE_OEM_OPERATION, inputs=[0], outputs=[1])
    model.main.input_indexes.append(0)
    model.main.output_indexes.append(1)
    with pytest.raises(reference.NotInReference, match="OEM_OPERATION"):
        reference.run(model, [pb.InputValue(data=np.zeros(1, "<f4").tobytes())])


@pytest.mark.parametrize(
    ("operand_type", "zero_point", "steps"),
    [
        (pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, 100, [0, 100, 255]),
        (pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED, -3, [-128, -3, 127]),
        (pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM, 0, [-32768, 0, 32767]),
        (pb.OPERAND_TYPE_TENSOR_QUANT16_ASYMM, 5, [0, 5, 65535]),
    ],
)
def test_quantised_values_stand_for_real_numbers(
    operand_type: pb.OperandType, zero_point: int, steps: list[int]
) -> None:
    stored = np.array(steps, dtype_of(operand_type))
    tensor = reference.Tensor(operand_type, stored, 0.5, zero_point)
    assert tensor.real.tolist() == [(step - zero_point) * 0.5 for step in steps]
