# SPDX-License-Identifier: Apache-2.0
"""Single cases from a test's own code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.cases.case import Case
from halyard.cases.check import ExpectedOutput
from halyard.conformance.driver import Driver
from halyard.conformance.outcome import Outcome, Status, outcome_of
from halyard.conformance.plan import Planned
from halyard.conformance.run import run
from halyard.errors import HalyardError
from halyard.model import Array, byte_size, dtype_of
from halyard.proto import halyard_pb2 as pb

# Offered to an output whose size only the driver knows.
_UNKNOWN_SIZE = 1 << 20


class CaseFailed(HalyardError):
    """A case did not end as it has to. The text says where and why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.status}: {outcome.message}")
        self.outcome = outcome


class CaseRunner:
    """Called with a model and its inputs it gives the outputs; CaseFailed if there are none."""

    def __init__(self, driver: Driver, version: pb.HalVersion) -> None:
        self._driver = driver
        self._version = version

    def __call__(
        self,
        model: pb.Model,
        inputs: Sequence[Array | None],
        *,
        output_bytes: Sequence[int] = (),
    ) -> list[Array]:
        """The outputs, in their shapes. An input that is None is omitted.

        `output_bytes`: the sizes to offer where they do not follow from the model.
        """
        case = _case(model, inputs, output_bytes)
        result = self._result(case)
        outcome = outcome_of(case, case.name, result)
        if outcome.status is not Status.PASSED:
            raise CaseFailed(outcome)
        types = [model.main.operands[index].type for index in model.main.output_indexes]
        return [
            np.frombuffer(output.data, dtype_of(output_type)).reshape(tuple(output.dimensions))
            for output, output_type in zip(result.examples[0].outputs, types, strict=True)
        ]

    def check(self, case: Case) -> Outcome:
        """The official check of a case. CaseFailed if it does not pass."""
        outcome = outcome_of(case, case.name, self._result(case))
        if outcome.status is not Status.PASSED:
            raise CaseFailed(outcome)
        return outcome

    def _result(self, case: Case) -> pb.CaseResult:
        [(_, result)] = run(self._driver, [Planned(case.name, case, self._version)])
        return result


def _case(model: pb.Model, inputs: Sequence[Array | None], output_bytes: Sequence[int]) -> Case:
    name = model.name or "model"
    operands = [model.main.operands[index] for index in model.main.output_indexes]
    if output_bytes and len(output_bytes) != len(operands):
        raise ValueError(f"{len(output_bytes)} output sizes for {len(operands)} outputs")
    sizes = output_bytes or [byte_size(operand) or _UNKNOWN_SIZE for operand in operands]
    example = pb.Example(name=name, outputs=[pb.OutputBuffer(byte_size=size) for size in sizes])
    for values in inputs:
        if values is None:
            example.inputs.add(has_no_value=True)
        else:
            data = np.ascontiguousarray(values)
            example.inputs.add(data=data.tobytes(), dimensions=data.shape)
    return Case(
        name=name,
        spec="",
        test_case=pb.TestCase(name=name, model=model, examples=[example]),
        # The test judges the results.
        expected=tuple(
            ExpectedOutput(operand.name, (), np.empty(0), None, ignored=True)
            for operand in operands
        ),
        hal_version=pb.HAL_VERSION_1_0,
        expect_failure=False,
        tags=frozenset(),
        lifetime_variants=(),
    )
