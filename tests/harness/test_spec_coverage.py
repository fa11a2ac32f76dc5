# SPDX-License-Identifier: Apache-2.0
"""The specs of tests/specs exercise every form of every operation with every type row, through the
lowest HAL version that takes the two.

`python -m tests.harness.test_spec_coverage` prints those that no case exercises.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from halyard import specs
from halyard.cases import Case, derived
from halyard.errors import HalyardError
from halyard.model import operation_name
from halyard.programs import native, operations
from halyard.programs.operations import TypedForm
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version

FOLDER = Path(__file__).parents[1] / "specs"


def cases_of(folder: Path) -> Iterator[Case]:
    """Those that have to pass: all of the specs and the forms derived from them."""
    for file in specs.files(folder):
        for case in specs.load(file):
            yield from (each for each in (case, *derived(case)) if not each.expect_failure)


def exercised(cases: Iterable[Case]) -> set[tuple[TypedForm, str]]:
    """The operations of the cases, each with the HAL version of its case."""
    table = operations.table()
    found = set()
    for case in cases:
        model = case.test_case.model
        for subgraph in (model.main, *model.referenced):
            types = [operand.type for operand in subgraph.operands]
            for operation in subgraph.operations:
                form = table[operation_name(operation.type)].typed_form(
                    [types[index] for index in operation.inputs],
                    [types[index] for index in operation.outputs],
                )
                if form is not None:
                    found.add((form, hal_version.format(case.hal_version)))
    return found


def missing(cases: Iterable[Case]) -> list[str]:
    """The forms that no case exercises through the lowest HAL version that takes it."""
    found = exercised(cases)
    return [
        str(form)
        for row in operations.table().values()
        for form in row.typed_forms()
        if (form, form.since) not in found
    ]


@pytest.fixture(scope="module", autouse=True)
def _driver() -> None:
    try:
        native.program("service")
    except HalyardError as error:
        pytest.skip(str(error))


def test_the_specs_exercise_every_form_with_every_type_row() -> None:
    assert missing(cases_of(FOLDER)) == []


def test_a_form_that_no_case_exercises_is_missed(tmp_path: Path) -> None:
    """As one whose cases are all of a later version is, or whose cases must fail."""
    spec = tmp_path / "V1_2" / "floor.mod.py"
    spec.parent.mkdir()
    spec.write_text(
        "for kind in ('TENSOR_FLOAT32', 'TENSOR_FLOAT16'):\n"
        "    x, z = Input('x', (kind, [1])), Output('z', (kind, [1]))\n"
        "    Model(kind.lower()).Operation('FLOOR', x).To(z)\n"
        "    Example({x: [1.5], z: [1]})\n"
    )
    found = missing(cases_of(tmp_path))
    assert "FLOOR(input) -> 1: TENSOR_FLOAT32, HAL 1.0" in found
    assert "FLOOR(input) -> 1: TENSOR_FLOAT16, HAL 1.2" not in found
    spec.write_text(spec.read_text().replace("})", "}).ExpectFailure()"))
    assert "FLOOR(input) -> 1: TENSOR_FLOAT16, HAL 1.2" in missing(cases_of(tmp_path))


def test_at_most_one_form_and_row_take_an_operation() -> None:
    for row in operations.table().values():
        for form in row.typed_forms():
            inputs = [_some(each, form.row) for each in form.form.inputs]
            outputs = [_some(each, form.row) for each in form.form.outputs]
            taking = [
                each
                for each in row.typed_forms()
                if each.form.takes_with(each.row, inputs, outputs)
            ]
            assert taking == [form]


def _some(parameter: operations.Parameter, row: operations.TypeRow) -> int:
    if parameter.column is not None:
        return row.types[parameter.column]
    return min(parameter.types, default=pb.OPERAND_TYPE_TENSOR_FLOAT32)


if __name__ == "__main__":
    lines = missing(cases_of(FOLDER))
    print(*lines, f"{len(lines)} are not exercised", sep="\n")
